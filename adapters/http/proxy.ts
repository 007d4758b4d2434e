import ipaddr from 'ipaddr.js';

type Variables = Readonly<Record<string, string | undefined>>;

/** The proxy for `url` by HTTPS_PROXY, HTTP_PROXY and NO_PROXY as in Go programs: upper or lower case, NO_PROXY with names, suffixes, ports, addresses and
 *  networks; null for none. Never used for this machine itself. Source: golang.org/x/net/http/httpproxy.
 *  @throws Error for a proxy that is not http or https; the message has no credentials */
export function proxyFor(url: string, variables: Variables): string | null {
  // The request itself gives a better error for an invalid URL.
  if (!URL.canParse(url)) return null;
  const { protocol, hostname, port } = new URL(url);
  const said = (name: string): string => variables[name]?.trim() || variables[name.toLowerCase()]?.trim() || '';
  const proxy = said(protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY');
  const host = hostname.replace(/^\[|\]$/g, '');
  if (proxy === '' || isOwn(host) || isExcepted(host, port || (protocol === 'https:' ? '443' : '80'), said('NO_PROXY'))) return null;
  return checked(proxy.includes('://') ? proxy : `http://${proxy}`);
}

function checked(proxy: string): string {
  const { protocol, host } = URL.canParse(proxy) ? new URL(proxy) : { protocol: '', host: '' };
  if (['http:', 'https:'].includes(protocol) && host !== '') return proxy;
  const what = protocol === '' ? 'a text that is no URL' : `${protocol}//${host}`;
  throw new Error(`HTTPS_PROXY or HTTP_PROXY is ${what}: it has to be http://HOST:PORT or https://HOST:PORT`);
}

const isOwn = (host: string): boolean => host === 'localhost' || (ipaddr.isValid(host) && ipaddr.parse(host).range() === 'loopback');

const isExcepted = (host: string, port: string, list: string): boolean =>
  list
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .filter((entry) => entry !== '')
    .some((entry) => entry === '*' || isWithinNetwork(host, entry) || isNamed(host, port, entry));

function isWithinNetwork(host: string, entry: string): boolean {
  if (!ipaddr.isValidCIDR(entry) || !ipaddr.isValid(host)) return false;
  const [address, [network, bits]] = [ipaddr.process(host), ipaddr.parseCIDR(entry)];
  return address.kind() === network.kind() && address.match(network, bits);
}

/** `example.com` also matches its subdomains; `*.example.com` and `.example.com` match only those. */
function isNamed(host: string, port: string, entry: string): boolean {
  const { name = '', own } = ipaddr.isValid(entry)
    ? { name: entry, own: undefined }
    : (/^\[?(?<name>[^\]]+?)\]?(?::(?<own>\d+))?$/.exec(entry)?.groups ?? {});
  if (name === '' || (own !== undefined && own !== port)) return false;
  if (ipaddr.isValid(host)) return ipaddr.isValid(name) && ipaddr.process(name).toString() === ipaddr.process(host).toString();
  const suffix = name.replace(/^\*\./, '.');
  return host === suffix || host.endsWith(suffix.startsWith('.') ? suffix : `.${suffix}`);
}
