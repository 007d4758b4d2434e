import { isIP } from 'node:net';

/** PEM files to verify the server, and to identify ourselves. Without `ca`, Node's default authorities are used. */
export interface TlsFiles {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** The options of a TLS connection to `host`. A server with several names chooses its certificate by SNI, which does not allow addresses. */
export const tlsTo = (host: string, files: TlsFiles): TlsFiles & { readonly servername?: string } => ({
  ...files,
  ...(isIP(host) === 0 && { servername: host }),
});
