import { parseJson, parseJsonList } from '../queue/json.ts';
import type { HttpEvent } from './http.ts';
import { ProblemError } from './problems.ts';

/**
 * The JSON value of a request's body.
 * @throws ProblemError: another content type, nothing there, too large, not UTF-8, not JSON, or a value that would be lost
 */
export function jsonBody(event: HttpEvent, { maxBytes }: { maxBytes: number }): unknown {
  const parsed = parseJson(bodyText(event, maxBytes));
  switch (parsed.kind) {
    case 'parsed':
      return parsed.value;
    case 'malformed':
      throw notJson(parsed.detail);
    case 'flawed':
      throw new ProblemError('unstorable-value', 'The body holds what would not come back as it was sent.', {
        flaws: parsed.flaws,
      });
  }
}

/**
 * The same for a body that is a list of values, `levels` deep in it: what would be lost is still there, for jsonFlaws to
 * tell of each.
 */
export function jsonListBody(event: HttpEvent, { maxBytes, levels }: { maxBytes: number; levels: number }): unknown {
  const parsed = parseJsonList(bodyText(event, maxBytes), levels);
  if (parsed.kind === 'malformed') throw notJson(parsed.detail);
  return parsed.value;
}

function notJson(detail: string): ProblemError {
  return new ProblemError('not-json', `The body is not JSON: ${detail}.`);
}

function bodyText(event: HttpEvent, maxBytes: number): string {
  const { body = '' } = event;
  // Before it is decoded: four characters of base64 are three bytes.
  const bytes = event.isBase64Encoded ? Math.floor((body.length * 3) / 4) : Buffer.byteLength(body);
  if (bytes > maxBytes + 2) {
    throw new ProblemError('too-large', `The body has ${bytes} bytes and may have ${maxBytes}.`);
  }
  if (bytes === 0) throw new ProblemError('not-json', 'The body is empty; send a JSON object.');
  refuseOtherTypes(event);
  return textOf(event, body);
}

/** `application/json` or `application/<name>+json`; JSON has one encoding, so a charset may only repeat it. */
function isJson(type: string): boolean {
  // An import of node:util evaluates all that is lazy in it, on each cold start.
  const { MIMEType } = process.getBuiltinModule('node:util');
  try {
    const { essence, params } = new MIMEType(type);
    return /^application\/(?:.+\+)?json$/.test(essence) && /^utf-?8$/i.test(params.get('charset') ?? 'utf-8');
  } catch {
    return false;
  }
}

function refuseOtherTypes({ headers }: HttpEvent): void {
  const type = headers['content-type'];
  if (type === undefined || !isJson(type)) {
    const came = type === undefined ? 'there was none' : `it was ${JSON.stringify(type.slice(0, 100))}`;
    throw new ProblemError('unsupported-media-type', `Send the header content-type: application/json; ${came}.`, {
      headers: { accept: 'application/json' },
    });
  }
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new ProblemError('unsupported-media-type', 'Send the body without a content-encoding.', {
      headers: { 'accept-encoding': 'identity' },
    });
  }
}

function textOf({ isBase64Encoded, headers }: HttpEvent, body: string): string {
  const text = isBase64Encoded ? decodeBase64(body) : body;
  if (text.startsWith('\ufeff')) {
    throw new ProblemError('not-json', 'The body begins with a byte order mark, which JSON must not; leave it out.');
  }
  // The gateway put U+FFFD in the place of bytes that are not UTF-8. It only shows where that changed the length.
  const sentBytes = headers['content-length'];
  if (text.includes('\ufffd') && !isBase64Encoded && sentBytes !== undefined) {
    if (Number(sentBytes) !== Buffer.byteLength(body)) throw notUtf8();
  }
  return text;
}

/** Strict, unlike Buffer: bytes that are not UTF-8 would else become U+FFFD without a word. */
function decodeBase64(body: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(body, 'base64'));
  } catch {
    throw notUtf8();
  }
}

function notUtf8(): ProblemError {
  return new ProblemError('not-json', 'The body is not UTF-8, which JSON has to be.');
}
