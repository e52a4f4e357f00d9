import { http } from '../lambda/http.ts';
import { noRoute } from '../lambda/routes.ts';

/** `$default`: what no route takes. HEAD and OPTIONS too: an HTTP API does not answer them by its GET routes. */
export const handler = http({ name: 'fallback' }, async (event) => {
  throw noRoute(event);
});
