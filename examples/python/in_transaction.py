"""Puts jobs in with psycopg 3, in the transaction that writes the row they are about."""

import os

import psycopg
from psycopg.types.json import Jsonb

# Commits at the end of the block, and rolls back if it raises: then there is no job either.
with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
    connection.execute("INSERT INTO customers (name) VALUES (%s)", ["Ada"])
    (job_id,) = connection.execute(
        """
        SELECT millrace.enqueue('hello.greet', %s,
                                run_at => now() + interval '1 minute', subject => %s)
        """,
        [Jsonb({"name": "Ada"}), "customer:Ada"],
    ).fetchone()
    # Up to 1,000 at once: all of them or, if one is refused, none.
    jobs = [{"kind": "hello.greet", "payload": {"name": name}} for name in ("Ada", "Grace")]
    rows = connection.execute("SELECT index, id, outcome FROM millrace.enqueue_many(%s)", [Jsonb(jobs)])
    print(job_id, [outcome for _, _, outcome in rows])
