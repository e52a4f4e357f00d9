// Puts a job in over HTTP and waits for its end. Needs nothing but Go.
package main

import (
	"bytes"
	"context"
	crypto "crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"time"
)

type Job struct {
	ID     string `json:"id"`
	Status string `json:"status"`
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	job, err := enqueue(ctx, map[string]any{
		"kind":    "hello.greet",
		"payload": map[string]any{"name": "Ada"},
		"subject": "customer:7",
	})
	if err == nil {
		job, err = waitFor(ctx, job.ID)
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.ID, job.Status)
}

// One key for all tries: whatever of them came through, the answer is the same job.
func enqueue(ctx context.Context, job map[string]any) (Job, error) {
	body, err := json.Marshal(job)
	if err != nil {
		return Job{}, err
	}
	return call(ctx, "POST", "/jobs", body, crypto.Text())
}

// Each request is held for up to 20 seconds, and answered when the job ends.
func waitFor(ctx context.Context, id string) (Job, error) {
	for {
		job, err := call(ctx, "GET", "/jobs/"+id+"?wait=20", nil, "")
		if err != nil || job.Status == "completed" || job.Status == "dead" || job.Status == "cancelled" {
			return job, err
		}
		if err := sleep(ctx, time.Second); err != nil {
			return job, err
		}
	}
}

func call(ctx context.Context, method, path string, body []byte, key string) (job Job, err error) {
	for n := 1; ; n++ {
		request, err := http.NewRequestWithContext(ctx, method, base()+path, bytes.NewReader(body))
		if err != nil {
			return job, err
		}
		request.Header.Set("Content-Type", "application/json")
		if key != "" {
			request.Header.Set("Idempotency-Key", key)
		}
		if token := os.Getenv("MILLRACE_TOKEN"); token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		status, header, text, err := send(request)
		if err == nil && status < 300 {
			return job, json.Unmarshal(text, &job)
		}
		seconds, never := strconv.Atoi(header.Get("Retry-After"))
		again := err != nil || never == nil || status == 429 || status == 502 || status == 503 || status == 504
		if err == nil {
			err = fmt.Errorf("%d: %s", status, text)
		}
		if !again || n == 6 {
			return job, err
		}
		jitter := rand.N(200 * time.Millisecond << n)
		if err := sleep(ctx, time.Duration(seconds)*time.Second+jitter); err != nil {
			return job, err
		}
	}
}

func send(request *http.Request) (status int, header http.Header, body []byte, err error) {
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, nil, err
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(answer.Body)
	return answer.StatusCode, answer.Header, body, err
}

func sleep(ctx context.Context, pause time.Duration) error {
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func base() string {
	if url := os.Getenv("MILLRACE_URL"); url != "" {
		return url
	}
	return "http://127.0.0.1:3000"
}
