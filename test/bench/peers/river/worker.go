package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/riverqueue/river"
)

type given struct {
	DatabaseURL string   `json:"databaseUrl"`
	Work        doing    `json:"work"`
	Settings    Settings `json:"settings"`
}

type doing struct {
	Kind string  `json:"kind"`
	Ms   float64 `json:"ms"`
}

// worker is what each job runs.
type worker struct {
	river.WorkerDefaults[Args]
	doing  doing
	mutex  sync.Mutex
	starts [][2]float64
}

func (w *worker) Work(ctx context.Context, job *river.Job[Args]) error {
	w.mutex.Lock()
	w.starts = append(w.starts, [2]float64{float64(job.Args.N), now()})
	w.mutex.Unlock()
	switch w.doing.Kind {
	case "wait":
		time.Sleep(time.Duration(w.doing.Ms * float64(time.Millisecond)))
	case "fail once":
		if job.Attempt == 1 {
			return errors.New("the first attempt fails")
		}
	}
	return nil
}

// NextRetry is the shortest that River allows.
func (w *worker) NextRetry(*river.Job[Args]) time.Time { return time.Now() }

func (w *worker) takeStarts() [][2]float64 {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	taken := w.starts
	w.starts = nil
	if taken == nil {
		taken = [][2]float64{}
	}
	return taken
}

func work(ctx context.Context, argument string) error {
	var given given
	if err := json.Unmarshal([]byte(argument), &given); err != nil {
		return err
	}
	settings := given.Settings
	pool, err := connect(ctx, given.DatabaseURL, settings.Connections)
	if err != nil {
		return err
	}
	defer pool.Close()
	one := &worker{doing: given.Work}
	workers := river.NewWorkers()
	river.AddWorker(workers, one)
	client, err := newClient(pool, &river.Config{
		FetchCooldown:     time.Duration(settings.FetchCooldown),
		FetchPollInterval: time.Duration(settings.FetchPollInterval),
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: settings.MaxWorkers}},
		Workers:           workers,
	})
	if err != nil {
		return err
	}
	// It tells of a job when its completer has written it.
	events, cancel := client.SubscribeConfig(&river.SubscribeConfig{
		ChanSize: 1_000_000,
		Kinds:    []river.EventKind{river.EventKindJobCompleted},
	})
	defer cancel()
	go count(events)
	tell(map[string]any{"ready": true})
	var begun float64
	orders := bufio.NewScanner(os.Stdin)
	for orders.Scan() {
		switch orders.Text() {
		case "go":
			begun = cpuSeconds()
			if err := client.Start(ctx); err != nil {
				return err
			}
		case "starts":
			tell(map[string]any{"starts": one.takeStarts()})
		case "stop":
			used := map[string]any{"cpuSeconds": cpuSeconds() - begun, "rssBytes": rssBytes()}
			if begun > 0 {
				if err := client.Stop(ctx); err != nil {
					return err
				}
			}
			tell(map[string]any{"used": used})
			return nil
		}
	}
	return errors.New("the benchmark has died")
}

// count tells each 5 ms how many have been settled since the start.
func count(events <-chan *river.Event) {
	ticks := time.Tick(5 * time.Millisecond)
	settled, told, at := 0, 0, 0.0
	for {
		select {
		case event := <-events:
			if event == nil {
				return
			}
			settled++
			at = now()
		case <-ticks:
			if settled > told {
				tell(map[string]any{"settled": settled, "at": at})
				told = settled
			}
		}
	}
}

func now() float64 { return float64(time.Now().UnixNano()) / 1e6 }

func cpuSeconds() float64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

// rssBytes is the peak.
func rssBytes() int64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return usage.Maxrss * 1024
}
