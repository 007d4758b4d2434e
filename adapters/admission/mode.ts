import { SERVICE } from './names.ts';

export type AdmissionMode = 'webhook' | 'policy' | 'off';
export const ADMISSION_MODES = ['auto', 'webhook', 'policy', 'off'] as const;

export interface AdmissionWish {
  readonly asked: (typeof ADMISSION_MODES)[number];
  /** `name` or `namespace/name` of the Service in front of the webhook; absent for none. */
  readonly service?: string;
  /** Where else the API server calls it; absent for nowhere. */
  readonly url?: string;
}

/** How the cluster stands to the policies about IPs: it evaluates none, these are not installed, or they are, as far as we may know. */
export type PoliciesInCluster = 'unserved' | 'unbound' | 'bound';

/** As asked; left to itself, by the policies where they are installed, else by the webhook where the API server can reach it, else by policies that may be installed
 *  later, where the cluster evaluates such. A registered webhook that nobody serves would keep everybody from writing IPs. */
export const modeOf = ({ asked, service, url }: AdmissionWish, policies: PoliciesInCluster): AdmissionMode => {
  if (asked !== 'auto') return asked;
  if (policies === 'bound') return 'policy';
  if (service !== undefined || url !== undefined) return 'webhook';
  return policies === 'unbound' ? 'policy' : 'off';
};

/** The names by which the API server calls the webhook: a certificate has to bear each of them. @throws Error for a URL that is none */
export const namesOf = ({ service, url }: AdmissionWish, namespace: string): readonly string[] => {
  const wanted = service ?? (url === undefined ? SERVICE : undefined);
  const [own, other] = wanted?.split('/') ?? [];
  const ofService = own === undefined ? [] : [other === undefined ? `${own}.${namespace}.svc` : `${other}.${own}.svc`];
  return [...ofService, ...(url === undefined ? [] : [hostOf(url)])];
};

const hostOf = (url: string): string => {
  const parsed = URL.parse(url);
  if (parsed?.protocol !== 'https:') throw new Error(`"${url}" is no URL of a webhook: the API server calls https:// only`);
  return parsed.hostname.replace(/^\[(.*)\]$/, '$1');
};
