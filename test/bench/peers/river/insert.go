package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"strconv"
	"sync"

	"github.com/riverqueue/river"
)

// call is a line on stdin: payloads to be put in, one by itself or all in one statement.
type call struct {
	ID       int    `json:"id"`
	Many     bool   `json:"many"`
	Payloads []Args `json:"payloads"`
}

// insert answers each call with its id when the database has the jobs; many calls go on at once.
func insert(ctx context.Context, url string, connections string) error {
	max, err := strconv.Atoi(connections)
	if err != nil {
		return err
	}
	pool, err := connect(ctx, url, int32(max))
	if err != nil {
		return err
	}
	defer pool.Close()
	client, err := newClient(pool, &river.Config{})
	if err != nil {
		return err
	}
	tell(map[string]any{"ready": true})
	var telling sync.Mutex
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var one call
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return err
		}
		go func() {
			var failed error
			if one.Many {
				params := make([]river.InsertManyParams, len(one.Payloads))
				for at, payload := range one.Payloads {
					params[at].Args = payload
				}
				_, failed = client.InsertManyFast(ctx, params)
			} else {
				_, failed = client.Insert(ctx, one.Payloads[0], nil)
			}
			answer := map[string]any{"id": one.ID}
			if failed != nil {
				answer["error"] = failed.Error()
			}
			telling.Lock()
			defer telling.Unlock()
			tell(answer)
		}()
	}
	return nil
}
