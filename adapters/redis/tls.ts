import { isIP } from 'node:net';

/** How a server is known, and how we are, as PEM. Without `ca` by the authorities that Node knows. */
export interface TlsFiles {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** The options of a TLS connection to `host`. A server with several names chooses its certificate by the one that is asked for; addresses are not asked for. */
export const tlsTo = (host: string, files: TlsFiles): TlsFiles & { readonly servername?: string } => ({
  ...files,
  ...(isIP(host) === 0 && { servername: host }),
});
