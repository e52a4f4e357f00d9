import document from '../../docs/openapi.json' with { type: 'json' };
import { http, jsonText } from '../lambda/http.ts';

/** Made once: it is the same for everybody. */
const TEXT = JSON.stringify(document);

/** `GET /openapi.json`: what this API takes and answers, as OpenAPI 3.1. */
export const handler = http({ name: 'openapi' }, async () => jsonText(200, TEXT));
