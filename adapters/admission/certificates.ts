import { createPrivateKey, randomBytes, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';

/** Certificate and key for serving TLS, as PEM. */
export interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** A serving certificate with its CA. The CA's key is discarded: a stolen Secret cannot sign anything. */
export interface Issued extends Pair {
  readonly ca: string;
}

export interface Validity {
  /** ms since the epoch. */
  readonly from: number;
  readonly to: number;
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** A positive number, as certificates require. */
const serial = (): string => {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes.toString('hex');
};

/** A new CA and a certificate signed by it for a server with these `names`, DNS names and addresses. */
export const issue = async (names: readonly string[], { from, to }: Validity): Promise<Issued> => {
  // Loaded on demand: the library takes a quarter of a second to load. It needs the polyfill first.
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  const newKeys = () => crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const [authority, server] = await Promise.all([newKeys(), newKeys()]);
  const times = { notBefore: new Date(from), notAfter: new Date(to) };
  const number = serial();
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    ...times,
    serialNumber: number,
    // Each CA has a unique name: with two of the same name a client might only try the wrong one.
    name: `CN=routedip-operator webhook CA ${number.slice(0, 16)}`,
    signingAlgorithm: ALGORITHM,
    keys: authority,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(authority.publicKey),
    ],
  });
  const cert = await x509.X509CertificateGenerator.create({
    ...times,
    serialNumber: serial(),
    subject: 'CN=routedip-operator webhook',
    issuer: ca.subject,
    publicKey: server.publicKey,
    signingKey: authority.privateKey,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(names.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value }))),
      await x509.AuthorityKeyIdentifierExtension.create(authority.publicKey),
      await x509.SubjectKeyIdentifierExtension.create(server.publicKey),
    ],
  });
  const key = x509.PemConverter.encode(await crypto.subtle.exportKey('pkcs8', server.privateKey), 'PRIVATE KEY');
  return { ca: `${ca.toString('pem')}\n`, cert: `${cert.toString('pem')}\n`, key: `${key}\n` };
};

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** The certificates of a PEM text; anything else is skipped. */
const certificatesIn = (pem: string): readonly X509Certificate[] =>
  [...pem.matchAll(PEM)].flatMap(([text]) => {
    try {
      return [new X509Certificate(text)];
    } catch {
      return [];
    }
  });

/** Validity and names of a stored pair. */
interface StoredPair extends Validity {
  readonly names: readonly string[];
  /** Whether a client accepts the certificate for this name. */
  bears(name: string): boolean;
}

/** Validity and names of a stored pair; null when it cannot be served: it is broken, its key does not match, or no CA in `bundle` signed it. */
export const readPair = ({ cert, key }: Pair, bundle: string): StoredPair | null => {
  const [certificate] = certificatesIn(cert);
  if (certificate === undefined || !belongs(certificate, key) || vouchersOf(cert, bundle) === '') return null;
  return {
    from: Date.parse(certificate.validFrom),
    to: Date.parse(certificate.validTo),
    names: namesIn(certificate),
    bears: (name) => (isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name)) !== undefined,
  };
};

const belongs = (certificate: X509Certificate, key: string): boolean => {
  try {
    return certificate.checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
};

/** `DNS:a.b.svc, IP Address:127.0.0.1` */
const namesIn = ({ subjectAltName = '' }: X509Certificate): readonly string[] =>
  subjectAltName.split(', ').flatMap((entry) => /^(?:DNS|IP Address):(.+)$/.exec(entry)?.[1] ?? []);

/** The certificates of `bundle` that signed `cert`, as PEM; empty for none. */
export const vouchersOf = (cert: string, bundle: string): string => {
  const [certificate] = certificatesIn(cert);
  if (certificate === undefined) return '';
  const vouching = certificatesIn(bundle).filter((ca) => certificate.checkIssued(ca) && certificate.verify(ca.publicKey));
  return vouching.map((ca) => ca.toString()).join('');
};
