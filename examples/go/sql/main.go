// Puts jobs in with pgx, in the transaction that writes the row they are about.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/jackc/pgx/v5"
)

func main() {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	// Commits if the function returns nil, and else rolls back: then there is no job either.
	if err := pgx.BeginFunc(ctx, conn, addCustomer); err != nil {
		log.Fatal(err)
	}
}

type payload struct {
	Name string `json:"name"`
}

type job struct {
	Kind    string  `json:"kind"`
	Payload payload `json:"payload"`
}

func addCustomer(tx pgx.Tx) error {
	ctx := context.Background()
	if _, err := tx.Exec(ctx, "INSERT INTO customers (name) VALUES ($1)", "Ada"); err != nil {
		return err
	}
	var id string
	err := tx.QueryRow(ctx, `
		SELECT millrace.enqueue('hello.greet', $1,
		                        run_at => now() + interval '1 minute', subject => $2)`,
		payload{Name: "Ada"}, "customer:Ada").Scan(&id)
	if err != nil {
		return err
	}
	// Up to 1,000 at once: all of them or, if one is refused, none.
	jobs := []job{{"hello.greet", payload{"Ada"}}, {"hello.greet", payload{"Grace"}}}
	rows, err := tx.Query(ctx, "SELECT outcome FROM millrace.enqueue_many($1)", jobs)
	if err != nil {
		return err
	}
	outcomes, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	fmt.Println(id, outcomes)
	return nil
}
