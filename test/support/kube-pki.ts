import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NETWORK } from './kube-network.ts';

/** Paths of a throw-away certificate authority and what it signed. `name` is one of CERTIFICATES. */
export interface Pki {
  readonly ca: string;
  certificate(name: CertificateName): { readonly crt: string; readonly key: string };
  /** Key pair that signs and checks ServiceAccount tokens. */
  readonly serviceAccount: { readonly publicKey: string; readonly privateKey: string };
}

type CertificateName = keyof typeof CERTIFICATES;

const CLIENT = 'extendedKeyUsage=clientAuth';
const CERTIFICATES = {
  apiserver: {
    subject: '/CN=kube-apiserver',
    extensions: `subjectAltName=IP:127.0.0.1,IP:${NETWORK.node},IP:${NETWORK.api},DNS:localhost,DNS:kubernetes.default.svc\nextendedKeyUsage=serverAuth`,
  },
  admin: { subject: '/O=system:masters/CN=admin', extensions: CLIENT },
  controllerManager: { subject: '/CN=system:kube-controller-manager', extensions: CLIENT },
} as const;

const isCertificateName = (name: string): name is CertificateName => name in CERTIFICATES;

/** Node can make keys and read certificates, but not sign them. */
const openssl = (...args: readonly string[]): void => {
  try {
    execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    throw new Error(missing ? 'openssl is not on PATH; a test API server needs it for its certificates' : `openssl ${args[0]} failed`, {
      cause: error,
    });
  }
};

const writeEcKey = (path: string): void => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  writeFileSync(path, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
};

/** Writes keys and certificates, valid for two days, into `folder`.
 *  @throws Error when openssl is missing or refuses */
export const createPki = (folder: string): Pki => {
  const file = (name: string): string => join(folder, name);
  writeEcKey(file('ca.key'));
  openssl('req', '-x509', '-new', '-key', file('ca.key'), '-sha256', '-days', '2', '-subj', '/CN=test-ca', '-out', file('ca.crt'));
  let serial = 1;
  for (const name of Object.keys(CERTIFICATES).filter(isCertificateName)) {
    const { subject, extensions } = CERTIFICATES[name];
    writeEcKey(file(`${name}.key`));
    writeFileSync(file(`${name}.ext`), `${extensions}\n`);
    openssl('req', '-new', '-key', file(`${name}.key`), '-subj', subject, '-out', file(`${name}.csr`));
    const signed = ['-in', file(`${name}.csr`), '-out', file(`${name}.crt`), '-extfile', file(`${name}.ext`)];
    openssl(
      'x509',
      '-req',
      ...signed,
      '-CA',
      file('ca.crt'),
      '-CAkey',
      file('ca.key'),
      '-set_serial',
      `${serial++}`,
      '-days',
      '2',
      '-sha256',
    );
  }
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(file('sa.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 });
  writeFileSync(file('sa.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
  return {
    ca: file('ca.crt'),
    certificate: (name) => ({ crt: file(`${name}.crt`), key: file(`${name}.key`) }),
    serviceAccount: { publicKey: file('sa.pub'), privateKey: file('sa.key') },
  };
};
