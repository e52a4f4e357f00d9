import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';
import pg from 'pg';

/** Postgres as RDS lets IAM logins in: over TLS, with a token that AWS's rules say is good. Behind it is a real one. */
export interface IamGate {
  readonly port: number;
  /** Every password that was sent. */
  readonly tokens: string[];
  close(): Promise<void>;
}

export interface IamGateOptions {
  /** The real database, with a login of its own for each user that is let in. */
  readonly urlOf: (user: string) => string;
  /** Secret key by id of the access keys that are good at the moment. */
  readonly keys: ReadonlyMap<string, string>;
  /** Name of a file in test/functions/certificates, without its ending. */
  readonly certificate: string;
}

export async function startIamGate({ urlOf, keys, certificate }: IamGateOptions): Promise<IamGate> {
  const pem = readFileSync(fileURLToPath(new URL(`../functions/certificates/${certificate}.pem`, import.meta.url)));
  const tokens: string[] = [];
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => {});
    socket.once('data', () => {
      // What came is the SSLRequest; 'S' says yes, and all that follows is TLS.
      socket.write('S');
      const tls = new TLSSocket(socket, { isServer: true, key: pem, cert: pem });
      tls.on('error', () => {});
      tls.once('data', (startup: Buffer) => {
        tls.once('data', (message: Buffer) => void admit(tls, userOf(startup), message));
        // Asks for the password as it is.
        tls.write(packet('R', Buffer.from([0, 0, 0, 3])));
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  async function admit(tls: TLSSocket, user: string, message: Buffer): Promise<void> {
    const token = message.subarray(5, -1).toString();
    tokens.push(token);
    if (!isGood(token, user, keys)) {
      const fields = `SFATAL\0VFATAL\0C28000\0MPAM authentication failed for user "${user}"\0\0`;
      return void tls.end(packet('E', Buffer.from(fields)));
    }
    const client = new pg.Client({ connectionString: urlOf(user) });
    await client.connect();
    const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
    for (const event of ['data', 'end', 'close', 'error']) stream.removeAllListeners(event);
    open.add(stream);
    stream.on('error', () => tls.destroy()).on('close', () => tls.destroy());
    tls.on('close', () => stream.destroy());
    tls.write(Buffer.concat([packet('R', Buffer.from([0, 0, 0, 0])), packet('Z', Buffer.from('I'))]));
    tls.pipe(stream).pipe(tls);
  }

  return {
    port: (server.address() as { port: number }).port,
    tokens,
    close: async () => {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Whether AWS would take it: for that user and this moment, and signed with a key that is good. */
function isGood(token: string, user: string, keys: ReadonlyMap<string, string>): boolean {
  const { host, pathname, searchParams: query } = new URL(`https://${token}`);
  const said = (name: string) => query.get(name) ?? '';
  const [id = '', day = '', region = '', service = '', end = ''] = said('X-Amz-Credential').split('/');
  const secret = keys.get(id);
  const date = said('X-Amz-Date');
  const madeAt = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
  const fits =
    said('Action') === 'connect' &&
    said('DBUser') === user &&
    said('X-Amz-Expires') === '900' &&
    said('X-Amz-SignedHeaders') === 'host' &&
    [service, end].join('/') === 'rds-db/aws4_request' &&
    Math.abs(Date.now() - madeAt) < 900_000;
  if (!fits || secret === undefined) return false;
  const signature = said('X-Amz-Signature');
  query.delete('X-Amz-Signature');
  query.sort();
  const encoded = (text: string) =>
    encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  const canonicalQuery = [...query].map((pair) => pair.map(encoded).join('=')).join('&');
  const canonical = ['GET', pathname, canonicalQuery, `host:${host}`, '', 'host', sha256('')].join('\n');
  const scope = [day, region, service, end].join('/');
  const toSign = ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n');
  const key = [day, region, service, end].reduce<string | Buffer>((last, part) => hmac(last, part), `AWS4${secret}`);
  return hmac(key, toSign).toString('hex') === signature;
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();

function packet(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/** After length and protocol version come names and values, each ended by a NUL. */
function userOf(startup: Buffer): string {
  const words = startup.subarray(8).toString().split('\0');
  return words[words.indexOf('user') + 1] ?? '';
}
