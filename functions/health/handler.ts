import { http, json } from '../lambda/http.ts';

/** `GET /health`: the API is there. Public, no database: it stays up to say so when everything behind it is down. */
export const handler = http({ name: 'health' }, async () => json(200, { status: 'ok' }));
