import { SERVICE } from './names.ts';

export type AdmissionMode = 'webhook' | 'policy' | 'off';
export const ADMISSION_MODES = ['auto', 'webhook', 'policy', 'off'] as const;

export interface AdmissionWish {
  readonly asked: (typeof ADMISSION_MODES)[number];
  /** `name` or `namespace/name` of the Service in front of the webhook; absent for none. */
  readonly service?: string;
  /** URL at which the API server calls it instead; absent for none. */
  readonly url?: string;
}

/** State of the policies for IPs in the cluster: not supported, not installed, or installed, as far as we can know. */
export type PoliciesInCluster = 'unserved' | 'unbound' | 'bound';

/** As requested; `auto` selects the policies where they are installed, else the webhook where the API server can reach it, else policies that may be installed
 *  later, where the cluster supports them. A registered webhook that is not served would block all writes of IPs. */
export const modeOf = ({ asked, service, url }: AdmissionWish, policies: PoliciesInCluster): AdmissionMode => {
  if (asked !== 'auto') return asked;
  if (policies === 'bound') return 'policy';
  if (service !== undefined || url !== undefined) return 'webhook';
  return policies === 'unbound' ? 'policy' : 'off';
};

/** The names that the API server uses to call the webhook; the certificate must contain them all. @throws Error for an invalid URL */
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
