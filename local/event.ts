import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';

/** Reads the request target as API Gateway does; undefined when it is no valid percent-encoded UTF-8, which is a 400. */
export function parseTarget(target: string): { path: string; rawQueryString: string } | undefined {
  // Clients that think they talk to a proxy send the whole URL.
  const relative = target.replace(/^https?:\/\/[^/?]*/i, '');
  const at = relative.indexOf('?');
  const encoded = at === -1 ? relative : relative.slice(0, at);
  try {
    // HTTP APIs hand the path over decoded, "raw" or not; only the query stays as it was sent.
    return { path: decodeURIComponent(encoded) || '/', rawQueryString: at === -1 ? '' : relative.slice(at + 1) };
  } catch {
    return undefined;
  }
}

/** One request as a Lambda behind an HTTP API gets it: payload format 2.0. Absent parts are absent, not empty. */
export function httpEvent(
  request: IncomingMessage,
  parts: {
    routeKey: string;
    path: string;
    rawQueryString: string;
    pathParameters: Readonly<Record<string, string>>;
    body: Buffer;
    requestId: string;
    receivedAt: Date;
  },
): APIGatewayProxyEventV2 {
  const { cookies, headers } = headersOf(request);
  const query = queryOf(parts.rawQueryString);
  const host = (request.headers.host ?? 'localhost').replace(/:\d+$/, '');
  const binary = !isText(request.headers['content-type']);
  return {
    version: '2.0',
    routeKey: parts.routeKey,
    rawPath: parts.path,
    rawQueryString: parts.rawQueryString,
    ...(cookies.length > 0 && { cookies }),
    headers,
    ...(query !== undefined && { queryStringParameters: query }),
    requestContext: {
      accountId: '000000000000',
      apiId: 'local',
      domainName: host,
      domainPrefix: host.split('.')[0] ?? host,
      http: {
        method: request.method ?? 'GET',
        path: parts.path,
        protocol: `HTTP/${request.httpVersion}`,
        sourceIp: sourceIp(request),
        userAgent: request.headers['user-agent'] ?? '',
      },
      requestId: parts.requestId,
      routeKey: parts.routeKey,
      stage: '$default',
      time: accessLogTime(parts.receivedAt),
      timeEpoch: parts.receivedAt.getTime(),
    },
    ...(parts.body.length > 0 && { body: parts.body.toString(binary ? 'base64' : 'utf8') }),
    ...(Object.keys(parts.pathParameters).length > 0 && { pathParameters: { ...parts.pathParameters } }),
    isBase64Encoded: parts.body.length > 0 && binary,
  };
}

/** What HTTP APIs pass as text, as observed on AWS; all else comes in base64, forms and bodies without a type included. */
function isText(contentType: string | undefined): boolean {
  const type = contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
  return type.startsWith('text/') || ['application/json', 'application/xml', 'application/javascript'].includes(type);
}

/** Belongs to the connection with the gateway, so it ends there. */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
];

function headersOf(request: IncomingMessage): { cookies: string[]; headers: Record<string, string> } {
  // Without a prototype: a header may be called constructor or __proto__.
  const headers: Record<string, string> = Object.create(null);
  const cookies: string[] = [];
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    const name = (request.rawHeaders[at] as string).toLowerCase();
    const value = request.rawHeaders[at + 1] as string;
    if (name === 'cookie') cookies.push(...value.split(/; */).filter(Boolean));
    else if (!HOP_BY_HOP.includes(name)) headers[name] = name in headers ? `${headers[name]},${value}` : value;
  }
  const forwarded = headers['x-forwarded-for'];
  headers['x-forwarded-for'] = forwarded === undefined ? sourceIp(request) : `${forwarded}, ${sourceIp(request)}`;
  headers['x-forwarded-port'] = String(request.socket.localPort ?? '');
  headers['x-forwarded-proto'] = 'http';
  headers['x-amzn-trace-id'] ??= traceId();
  return { cookies, headers };
}

function queryOf(rawQueryString: string): Record<string, string> | undefined {
  if (rawQueryString === '') return undefined;
  const query: Record<string, string> = Object.create(null);
  for (const [name, value] of new URLSearchParams(rawQueryString)) {
    query[name] = name in query ? `${query[name]},${value}` : value;
  }
  return query;
}

function sourceIp(request: IncomingMessage): string {
  return request.socket.remoteAddress?.replace(/^::ffff:/, '') ?? '127.0.0.1';
}

function traceId(): string {
  const seconds = Math.floor(Date.now() / 1000).toString(16);
  return `Root=1-${seconds}-${randomBytes(12).toString('hex')}`;
}

/** `12/Mar/2020:19:03:58 +0000`. */
function accessLogTime(at: Date): string {
  const [, day, month, year, time] = /^\w+, (\d+) (\w+) (\d+) ([\d:]+) GMT$/.exec(at.toUTCString()) ?? [];
  return `${day}/${month}/${year}:${time} +0000`;
}
