import { describe, expect, expectProblem, test } from './api.ts';

const TABLES = ['live_jobs', 'payloads', 'finished_jobs', 'dead_jobs', 'counter_deltas', 'idempotency_keys'];
const json = (text: string) => ({ body: text });
const job = (fields: object) => ({ body: { kind: 'hello.greet', payload: { name: 'Ada' }, ...fields } });
const payload = (text: string) => json(`{"kind": "hello.greet", "payload": ${text}}`);

interface Case {
  readonly what: string;
  readonly request: object;
  readonly status: number;
  readonly type: string;
  /** JSON pointer that one of `errors` must have. */
  readonly at?: string;
  /** What the answer must say, somewhere. */
  readonly says?: string | RegExp;
}

const CASES: Case[] = [
  { what: 'no JSON', request: json('{"kind": nope}'), status: 400, type: 'not-json' },
  { what: 'half a JSON', request: json('{"kind": "hello.greet"'), status: 400, type: 'not-json' },
  { what: 'two JSONs', request: json('{} {}'), status: 400, type: 'not-json' },
  { what: 'no body', request: { headers: { 'content-type': 'application/json' } }, status: 400, type: 'not-json' },
  { what: 'an empty body', request: json(''), status: 400, type: 'not-json' },
  { what: 'white space', request: json('  \n'), status: 400, type: 'not-json' },
  {
    what: 'bytes that are not UTF-8',
    request: { body: Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]), base64: true },
    status: 400,
    type: 'not-json',
    says: 'UTF-8',
  },
  ...['application/json', 'application/cloudevents+json'].map((type) => ({
    what: `a byte order mark before ${type}`,
    request: {
      body: '\ufeff{"kind": "hello.greet", "payload": {"name": "Ada"}}',
      headers: { 'content-type': type },
      base64: type.includes('+'),
    },
    status: 400,
    type: 'not-json',
    says: 'byte order mark',
  })),
  {
    what: 'U+FFFD where the gateway found bytes that are not UTF-8',
    request: {
      body: '{"kind": "hello.greet", "payload": {"name": "\ufffd"}}',
      headers: { 'content-type': 'application/json', 'content-length': '49' },
    },
    status: 400,
    type: 'not-json',
    says: 'UTF-8',
  },
  { what: 'an array', request: json('[1]'), status: 422, type: 'invalid-job', at: '', says: 'expected object' },
  { what: 'null', request: json('null'), status: 422, type: 'invalid-job', at: '' },
  { what: 'a string', request: json('"job"'), status: 422, type: 'invalid-job', at: '' },

  {
    what: 'no kind',
    request: json('{"payload": {}}'),
    status: 422,
    type: 'unknown-kind',
    at: '/kind',
    says: /github\.webhook, hello\.greet/,
  },
  {
    what: 'an unknown kind',
    request: job({ kind: 'hello.great' }),
    status: 422,
    type: 'unknown-kind',
    at: '/kind',
    says: /github\.webhook, hello\.greet/,
  },
  { what: 'a kind that is a number', request: job({ kind: 7 }), status: 422, type: 'unknown-kind', at: '/kind' },
  {
    what: 'a kind that every object has',
    request: job({ kind: 'constructor' }),
    status: 422,
    type: 'unknown-kind',
    at: '/kind',
  },

  {
    what: 'no payload',
    request: json('{"kind": "hello.greet"}'),
    status: 422,
    type: 'invalid-job',
    at: '/payload',
    says: 'is required',
  },
  {
    what: 'a payload that misses a field',
    request: payload('{}'),
    status: 422,
    type: 'invalid-job',
    at: '/payload/name',
    says: 'is required',
  },
  {
    what: 'a payload with a wrong field',
    request: payload('{"name": 7}'),
    status: 422,
    type: 'invalid-job',
    at: '/payload/name',
  },
  { what: 'a payload that is null', request: payload('null'), status: 422, type: 'invalid-job', at: '/payload' },
  {
    what: 'a payload that is wrong deep inside',
    request: json(
      '{"kind": "github.webhook", "payload": {"event": "push", "delivery": {"repository": {"full_name": 1}}}}',
    ),
    status: 422,
    type: 'invalid-job',
    at: '/payload/delivery/repository/full_name',
  },

  {
    what: 'an unknown field',
    request: job({ prioriti: 1 }),
    status: 422,
    type: 'invalid-job',
    at: '/prioriti',
    says: /known are kind, payload, queue,/,
  },
  { what: 'an id', request: job({ id: 'x' }), status: 422, type: 'invalid-job', at: '/id' },
  ...[6, -6, 1.5, '1', null, 1e300].map((priority) => ({
    what: `priority ${JSON.stringify(priority)}`,
    request: job({ priority }),
    status: 422,
    type: 'invalid-job',
    at: '/priority',
  })),
  ...[0, 1001, 2.5, -1].map((max_attempts) => ({
    what: `max_attempts ${max_attempts}`,
    request: job({ max_attempts }),
    status: 422,
    type: 'invalid-job',
    at: '/max_attempts',
  })),
  ...['', ' ', 'a b', 'x'.repeat(101), '.a', 7].map((queue) => ({
    what: `queue ${JSON.stringify(queue).slice(0, 20)}`,
    request: job({ queue }),
    status: 422,
    type: 'invalid-job',
    at: '/queue',
  })),
  { what: 'an empty subject', request: job({ subject: '' }), status: 422, type: 'invalid-job', at: '/subject' },
  {
    what: 'a subject of 256',
    request: job({ subject: 'ü'.repeat(256) }),
    status: 422,
    type: 'invalid-job',
    at: '/subject',
  },
  ...['idempotency_key', 'unique_key'].flatMap((field) =>
    ['', 'ü'.repeat(256), 7, null].map((value) => ({
      what: `${field} ${JSON.stringify(value).slice(0, 10)}`,
      request: job({ [field]: value }),
      status: 422,
      type: 'invalid-job',
      at: `/${field}`,
    })),
  ),
  ...['', '""', 'x'.repeat(256)].map((key) => ({
    what: `the header Idempotency-Key: ${key.slice(0, 10)}`,
    request: { ...job({}), headers: { 'idempotency-key': key } },
    status: 422,
    type: 'invalid-job',
    at: '/idempotency_key',
  })),
  ...['b', null, 7].map((idempotency_key) => ({
    what: `the header Idempotency-Key: a and idempotency_key ${idempotency_key}`,
    request: { ...job({ idempotency_key }), headers: { 'idempotency-key': 'a' } },
    status: 422,
    type: 'invalid-job',
    at: '/idempotency_key',
    says: 'send one of the two',
  })),
  {
    what: 'a unique_while that is no such state',
    request: job({ unique_key: 'a', unique_while: 'dead' }),
    status: 422,
    type: 'invalid-job',
    at: '/unique_while',
  },
  ...['payload', ['kind']].map((replace) => ({
    what: `replace ${JSON.stringify(replace)}`,
    request: job({ unique_key: 'a', replace }),
    status: 422,
    type: 'invalid-job',
    at: Array.isArray(replace) ? '/replace/0' : '/replace',
  })),
  ...[{ unique_while: 'live' }, { replace: ['payload'] }].map((fields) => ({
    what: `${JSON.stringify(fields)} without a unique_key`,
    request: job(fields),
    status: 422,
    type: 'invalid-job',
    at: '/unique_key',
    says: 'is missing',
  })),
  {
    what: 'NUL in a key of its own',
    request: job({ unique_key: 'a\0' }),
    status: 422,
    type: 'unstorable-value',
    at: '/unique_key',
    says: 'NUL',
  },
  {
    what: 'half a surrogate pair in the idempotency key',
    request: json('{"idempotency_key": "\\ud800"}'),
    status: 422,
    type: 'unstorable-value',
    at: '/idempotency_key',
  },
  ...[-1, 'soon', 1e12].map((delay_seconds) => ({
    what: `delay_seconds ${delay_seconds}`,
    request: job({ delay_seconds }),
    status: 422,
    type: 'invalid-job',
    at: '/delay_seconds',
  })),
  {
    what: 'run_at together with delay_seconds',
    request: job({ run_at: '2030-01-01T00:00:00Z', delay_seconds: 1 }),
    status: 422,
    type: 'invalid-job',
    at: '/delay_seconds',
    says: 'excludes run_at',
  },
  ...[
    'tomorrow',
    '',
    '2030-01-31',
    '2030-01-31T08:00:00',
    '2030-02-30T08:00:00Z',
    '2030-01-31T24:30:00Z',
    '2030-01-31T08:00:00+25:00',
    '+275760-09-13T00:00:00Z',
    '2030-01-31T08:00Z',
  ].map((run_at) => ({
    what: `run_at ${JSON.stringify(run_at)}`,
    request: job({ run_at }),
    status: 422,
    type: 'invalid-job',
    at: '/run_at',
    says: 'RFC 3339',
  })),
  ...['0001-01-01T00:00:00Z', '1969-12-31T23:59:59Z', '9999-12-31T23:59:59Z', '2275-01-01T00:00:00Z'].map((run_at) => ({
    what: `run_at ${run_at}`,
    request: job({ run_at }),
    status: 422,
    type: 'invalid-job',
    at: '/run_at',
    says: 'between 1970-01-01T00:00:00Z and ten years from now',
  })),
  {
    what: 'run_at as a number',
    request: job({ run_at: 1_900_000_000 }),
    status: 422,
    type: 'invalid-job',
    at: '/run_at',
  },

  {
    what: 'NUL in the payload',
    request: payload('{"name": "a\\u0000"}'),
    status: 422,
    type: 'unstorable-value',
    at: '/payload/name',
    says: 'NUL',
  },
  {
    what: 'NUL in a key',
    request: payload('{"name": "Ada", "a\\u0000": 1}'),
    status: 422,
    type: 'unstorable-value',
    at: '/payload/a\0',
    says: 'NUL',
  },
  {
    what: 'NUL in the subject',
    request: job({ subject: 'a\0' }),
    status: 422,
    type: 'unstorable-value',
    at: '/subject',
    says: 'NUL',
  },
  {
    what: 'NUL in the kind',
    request: job({ kind: '\0' }),
    status: 422,
    type: 'unstorable-value',
    at: '/kind',
    says: 'NUL',
  },
  {
    what: 'half a surrogate pair',
    request: payload('{"name": "\\ud83d"}'),
    status: 422,
    type: 'unstorable-value',
    at: '/payload/name',
    says: 'surrogate',
  },
  {
    what: 'half a surrogate pair in a key',
    request: payload('{"a": {"\\udc00": 1}}'),
    status: 422,
    type: 'unstorable-value',
    says: 'surrogate',
  },
  {
    what: 'half a surrogate pair in the queue',
    request: json('{"queue": "\\ud800"}'),
    status: 422,
    type: 'unstorable-value',
    at: '/queue',
  },
  ...[
    '9007199254740993',
    '-9007199254740993',
    '12345678901234567890',
    '1e400',
    '-1e400',
    '1e-400',
    '123456789012345678e2',
  ].map((number) => ({
    what: `the number ${number}`,
    request: payload(`{"name": "Ada", "n": [${number}]}`),
    status: 422,
    type: 'unstorable-value',
    at: '/payload/n/0',
    says: 'send it as a string',
  })),
  {
    what: 'a __proto__ key',
    request: payload('{"name": "Ada", "__proto__": {"admin": true}}'),
    status: 422,
    type: 'unstorable-value',
    at: '/payload/__proto__',
  },
  {
    what: '10,000 levels of arrays',
    request: payload('['.repeat(10_000) + ']'.repeat(10_000)),
    status: 422,
    type: 'unstorable-value',
    says: /100 levels, at character \d+/,
  },
  {
    what: '10,000 levels of objects',
    request: payload(`${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`),
    status: 422,
    type: 'unstorable-value',
    says: /100 levels/,
  },

  {
    what: '257 KiB of payload',
    request: job({ payload: { name: 'Ada', fill: 'x'.repeat(257 * 1024) } }),
    status: 413,
    type: 'too-large',
    says: '262144',
  },
  { what: 'a body of 5 MB', request: json('['.repeat(5_000_000)), status: 413, type: 'too-large' },
  {
    what: 'a base64 body of 5 MB',
    request: { body: Buffer.alloc(5_000_000), base64: true },
    status: 413,
    type: 'too-large',
  },

  {
    what: 'no content type',
    request: { ...job({}), headers: { 'content-type': undefined } },
    status: 415,
    type: 'unsupported-media-type',
    says: 'application/json',
  },
  ...[
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'application/json; charset=latin1',
    'application/json; charset=utf-16; profile=x',
    'application/json, application/json',
    'application/jsonp',
    'json',
    '',
  ].map((type) => ({
    what: `content type ${JSON.stringify(type)}`,
    request: { ...job({}), headers: { 'content-type': type } },
    status: 415,
    type: 'unsupported-media-type',
  })),
  {
    what: 'a gzipped body',
    request: { ...job({}), headers: { 'content-encoding': 'gzip' } },
    status: 415,
    type: 'unsupported-media-type',
  },
];

describe('bad input to POST /jobs', () => {
  test.for(CASES)('$what: $status $type', async ({ request, status, type, at, says }, { call, db }) => {
    const answer = await call('POST', '/jobs', request);

    expectProblem(answer, status, type);
    if (at !== undefined) expect(answer.body.errors.map((error: { pointer: string }) => error.pointer)).toContain(at);
    if (says !== undefined) expect(answer.text).toMatch(says);
    expect(answer.text.length).toBeLessThan(4000);
    for (const table of TABLES) {
      expect((await db.query(`SELECT count(*)::int AS n FROM millrace.${table}`)).rows, table).toEqual([{ n: 0 }]);
    }
  });

  test('names every field that is wrong at once', async ({ call }) => {
    const { body } = await call('POST', '/jobs', {
      body: { kind: 'hello.greet', payload: { name: '' }, priority: 9, run_at: 'x', queue: '', colour: 'red' },
    });
    expect(body.errors.map((error: { pointer: string }) => error.pointer).sort()).toEqual([
      '/colour',
      '/payload/name',
      '/priority',
      '/queue',
      '/run_at',
    ]);
  });

  test('is answered in well-formed Unicode, whatever the answer quotes', async ({ call }) => {
    const bodies = [
      '{"kind": "hello.greet", "payload": {"\\udc00": 1}}',
      JSON.stringify({ kind: 'hello.greet', payload: {}, [`${'x'.repeat(99)}\u{1F680}`]: 1 }),
      '{"kind": \ud83d\ude80}',
    ];
    for (const body of bodies) {
      const { text, status } = await call('POST', '/jobs', { body });
      expect(status).toBeGreaterThanOrEqual(400);
      expect(text).not.toMatch(/\\ud[89a-f]/i);
    }
  });

  test('shows 20 flaws of 100,000', async ({ call }) => {
    const text = `{"kind": "hello.greet", "payload": [${Array(40_000).fill('"\\u0000"').join()}]}`;
    const { body } = await call('POST', '/jobs', { body: text });
    expect(body.errors).toHaveLength(20);
  });
});

describe('bad input to the other routes', () => {
  const ID = '0195c9f0-0000-7000-8000-000000000000';
  const OTHERS: [method: string, target: string, status: number, type: string, says?: string][] = [
    ['GET', '/jobs/7', 400, 'invalid-id'],
    ['GET', '/jobs/%00', 400, 'invalid-id'],
    ['GET', `/jobs/${ID}0`, 400, 'invalid-id'],
    ['GET', `/jobs/${ID}%20`, 400, 'invalid-id'],
    ['POST', '/jobs/7/cancel', 400, 'invalid-id'],
    ['POST', '/jobs/x/redrive', 400, 'invalid-id'],
    ['GET', `/jobs/${ID}`, 404, 'no-such-job', ID],
    ['POST', `/jobs/${ID}/cancel`, 404, 'no-such-job'],
    ['POST', `/jobs/${ID}/redrive`, 404, 'no-such-job'],
    ['GET', `/jobs/${ID}?include=payload,secrets`, 400, 'invalid-query', '/include'],
    ['GET', `/jobs/${ID}?include=payload&include=result`, 400, 'invalid-query', 'more than once'],
    ['GET', `/jobs/${ID}?wait=21`, 400, 'invalid-query', '/wait'],
    ...['0', '-1', '1e9', 'abc', '201', '', '1.5', '%2050', '050'].map(
      (limit): [string, string, number, string, string] => [
        'GET',
        `/jobs?limit=${limit}`,
        400,
        'invalid-query',
        '1 to 200',
      ],
    ),
    ['GET', '/jobs?status=pending&status=dead', 400, 'invalid-query', 'more than once'],
    ['GET', '/jobs?status=pending%2Cdead', 400, 'invalid-query', 'pending, processing, completed, dead, cancelled'],
    ['GET', '/jobs?status=', 400, 'invalid-query', '/status'],
    ['GET', '/jobs?kind=%00', 400, 'invalid-query', '/kind'],
    ['GET', '/jobs?kind=a&kind=a', 400, 'invalid-query', 'more than once'],
    ['GET', '/jobs?subject=', 400, 'invalid-query', '/subject'],
    ['GET', '/jobs?subject=a%00', 400, 'invalid-query', 'NUL'],
    ['GET', '/jobs?queue=x', 400, 'invalid-query', '/queue'],
    [
      'GET',
      '/jobs?state=dead',
      400,
      'invalid-query',
      'not a parameter that is known here; known are status, kind, subject,',
    ],
    ['GET', `/jobs/${ID}?includes=payload`, 400, 'invalid-query', 'known are include, wait'],
    ['GET', '/jobs?__proto__=1', 400, 'invalid-query', '/__proto__'],
    ['GET', '/jobs?a/~b=1&a/~b=2', 400, 'invalid-query', '"/a~1~0b","detail":"came more than once'],
    ['GET', '/jobs?cursor=', 400, 'invalid-cursor'],
    ['GET', '/jobs?cursor=abc', 400, 'invalid-cursor'],
    ['GET', '/jobs?cursor=%00', 400, 'invalid-cursor'],
    ['GET', `/jobs?cursor=${Buffer.alloc(25).toString('base64url')}`, 400, 'invalid-cursor'],
    ['GET', '/job', 404, 'no-such-route', '/jobs/{id}'],
    ['GET', '/', 404, 'no-such-route'],
    ['GET', '/jobs/', 404, 'no-such-route', 'Leave out the slash at the end.'],
    ['POST', `/jobs/${ID}/cancel/`, 404, 'no-such-route', 'Leave out the slash at the end.'],
    ['POST', '/jobs/redrive?dry_run=true', 422, 'invalid-filter', 'in the body'],
    ['GET', '/jobs//cancel', 404, 'no-such-route'],
  ];
  test.for(OTHERS)('%s %s: %i %s', async ([method, target, status, type, says], { call }) => {
    const answer = await call(method, target);
    expectProblem(answer, status, type);
    if (says !== undefined) expect(answer.text).toContain(says);
  });

  test('shows 20 of the parameters that came twice', async ({ call }) => {
    const query = Array.from({ length: 700 }, (_, n) => `q${n}&q${n}`).join('&');
    expect((await call('GET', `/jobs?${query}`)).body.errors).toHaveLength(20);
  });

  test.for([
    ['DELETE', '/jobs', 'GET, POST'],
    ['PUT', '/jobs/7', 'DELETE, GET'],
    ['HEAD', '/health', 'GET'],
    ['OPTIONS', '/jobs', 'GET, POST'],
    ['GET', '/jobs/7/cancel', 'POST'],
    ['POST', '/metrics', 'GET'],
  ])('%s %s: 405, Allow: %s', async ([method = '', path = '', allow = ''], { call }) => {
    const answer = await call(method, path);
    expectProblem(answer, 405, 'method-not-allowed');
    expect(answer.headers.allow).toBe(allow);
  });
});
