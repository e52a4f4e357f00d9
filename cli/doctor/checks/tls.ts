import { isIP } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import type { Check } from '../check.ts';
import { type Finding, failed, NotKnownError, ok, warning } from '../finding.ts';

const TIMEOUT_MS = 10_000;
const DAY_MS = 86_400_000;
const SEE = 'docs/doctor.md#tls';

/** Whether the certificate is one that clients trust, and for how long. */
export const tls: Check = {
  id: 'tls',
  examine: async (deployment) => {
    const { url } = deployment.api();
    if (url.protocol === 'http:') return ok('none, which will do on loopback');
    const socket = await handshake(url).catch((error: NodeJS.ErrnoException) => {
      // That nobody answers is another check's to say.
      if (error.code?.startsWith('ERR_SSL') || error.code === 'EPROTO') return error;
      throw new NotKnownError('takes an API that answers');
    });
    if (socket instanceof Error) {
      return failed('what answers there speaks no TLS that is in use', { remedy: 'Look at host and port.', see: SEE });
    }
    try {
      return findingOf(socket, deployment.options.limits.certificateDays);
    } finally {
      socket.destroy();
    }
  },
};

/** Resolves a certificate that is not valid, too: what is wrong with it is to be seen. */
function handshake({ hostname, port }: URL): Promise<TLSSocket> {
  const host = hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve, reject) => {
    const name = isIP(host) === 0 ? { servername: host } : {};
    const socket = connect({ host, port: Number(port || 443), rejectUnauthorized: false, ...name }, () =>
      resolve(socket),
    );
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('timeout')));
    socket.once('error', reject);
  });
}

function findingOf(socket: TLSSocket, certificateDays: number): Finding {
  const { valid_to } = socket.getPeerCertificate();
  const days = Math.floor((Date.parse(valid_to) - Date.now()) / DAY_MS);
  const protocol = socket.getProtocol();
  if (!socket.authorized)
    return failed(`the certificate is not trusted: ${reasonOf(socket)}`, { remedy: remedyOf(socket), see: SEE });
  const found = `${protocol}, the certificate is trusted for ${days} more days`;
  if (days >= certificateDays) return ok(found);
  return warning(found, { remedy: 'Renew it; find out why nothing renews it by itself.', see: SEE });
}

const REASONS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'it has expired',
  CERT_NOT_YET_VALID: 'it is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'it is of another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'it signs itself',
  SELF_SIGNED_CERT_IN_CHAIN: 'its authority is not known here',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its authority is not known here',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its authority is not known here',
};

/** The types say an Error; it is its code. */
function codeOf(socket: TLSSocket): string {
  return String(socket.authorizationError);
}

function reasonOf(socket: TLSSocket): string {
  return REASONS[codeOf(socket)] ?? codeOf(socket);
}

function remedyOf(socket: TLSSocket): string {
  if (codeOf(socket) === 'CERT_HAS_EXPIRED') return 'Renew it.';
  if (codeOf(socket) === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'Use the name that it was made for.';
  return 'Is it really yours? NODE_EXTRA_CA_CERTS=<file.pem> names an authority of your own.';
}
