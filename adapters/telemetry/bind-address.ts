/** Where a server listens. Without `host`: on every interface. */
export interface BindAddress {
  readonly host?: string;
  readonly port: number;
}

const FORM = /^(?:\[(?<v6>[0-9a-fA-F:.%]+)\]|(?<host>[^:\s]*)):(?<port>\d{1,5})$/;

/** `:8080`, `host:8080`, `127.0.0.1:0` or `[::1]:8080`, as in Go programs. Port 0 lets the system choose. @throws Error that shows the valid forms */
export function parseBindAddress(text: string): BindAddress {
  const { v6, host, port } = FORM.exec(text)?.groups ?? {};
  if (port === undefined || Number(port) > 65_535) {
    throw new Error(`"${text}" is no address to listen on: write :8080, 127.0.0.1:8080 or [::1]:8080`);
  }
  const name = v6 ?? host ?? '';
  return { ...(name !== '' && { host: name }), port: Number(port) };
}
