// Speaks systems/protocol.ts for River: `install`, `insert` and, with a JSON argument, a worker process.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// Args is a job's payload, kept as it came whatever it holds beside n.
type Args struct {
	N     int
	whole json.RawMessage
}

func (Args) Kind() string { return "bench" }

func (args Args) MarshalJSON() ([]byte, error) { return args.whole, nil }

func (args *Args) UnmarshalJSON(whole []byte) error {
	args.whole = append(json.RawMessage{}, whole...)
	var named struct {
		N int `json:"n"`
	}
	err := json.Unmarshal(whole, &named)
	args.N = named.N
	return err
}

// Settings of the client; nanoseconds, 0 is River's default.
type Settings struct {
	MaxWorkers        int   `json:"maxWorkers"`
	FetchCooldown     int64 `json:"fetchCooldown"`
	FetchPollInterval int64 `json:"fetchPollInterval"`
	Connections       int32 `json:"connections"`
}

func main() {
	ctx := context.Background()
	var err error
	switch os.Args[1] {
	case "install":
		err = install(ctx, os.Args[2])
	case "insert":
		err = insert(ctx, os.Args[2], os.Args[3])
	default:
		err = work(ctx, os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func install(ctx context.Context, url string) error {
	pool, err := connect(ctx, url, 1)
	if err != nil {
		return err
	}
	defer pool.Close()
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: quiet()})
	if err != nil {
		return err
	}
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

func connect(ctx context.Context, url string, connections int32) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = connections
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return pool, pool.Ping(ctx)
}

func newClient(pool *pgxpool.Pool, config *river.Config) (*river.Client[pgx.Tx], error) {
	config.Logger = quiet()
	return river.NewClient(riverpgxv5.New(pool), config)
}

func quiet() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError + 4}))
}

func tell(message any) {
	line, _ := json.Marshal(message)
	os.Stdout.Write(append(line, '\n'))
}
