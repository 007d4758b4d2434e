import { type Manifest, manifestsIn } from '../../tools/manifests.ts';

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly valueFrom?: { readonly secretKeyRef: object } }[];
  readonly ports: readonly object[];
  readonly securityContext: object;
  readonly resources: object;
  readonly volumeMounts?: readonly object[];
  readonly readinessProbe: { readonly exec: { readonly command: readonly string[] } };
}

interface Labelled {
  readonly matchLabels: object;
}

interface Rule {
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** An object that is installed, as far as a test looks into it. Each looks only for what its kind has. */
export interface Shipped extends Manifest {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly rules?: readonly Rule[];
  readonly roleRef?: { readonly name: string };
  readonly spec: {
    readonly replicas: number;
    readonly strategy: object;
    readonly selector: object;
    readonly template: {
      readonly metadata: { readonly labels: object };
      readonly spec: {
        readonly containers: readonly [Container];
        readonly initContainers?: readonly Container[];
        readonly volumes?: readonly object[];
        readonly securityContext: object;
        readonly imagePullSecrets?: readonly object[];
        readonly automountServiceAccountToken?: boolean;
        readonly terminationGracePeriodSeconds?: number;
        readonly affinity: {
          readonly podAntiAffinity: {
            readonly preferredDuringSchedulingIgnoredDuringExecution: readonly [
              { readonly podAffinityTerm: { readonly labelSelector: object } },
            ];
          };
        };
      };
    };
    readonly volumeClaimTemplates: readonly [{ readonly metadata: { readonly name: string }; readonly spec: object }];
    readonly ports: readonly [{ readonly port: number }];
    readonly podSelector: Labelled;
    readonly ingress: readonly [{ readonly ports: readonly object[]; readonly from: readonly [{ readonly podSelector: Labelled }] }];
    readonly policyTypes: readonly string[];
    readonly egress?: readonly object[];
    readonly endpoints: readonly object[];
  };
}

export type ByName = Readonly<Record<string, Shipped>>;

export const shippedIn = (text: string): readonly Shipped[] => manifestsIn(text) as readonly Shipped[];

/** Objects by kind and name: two lists of them are the same whatever their order. */
export const keyed = (objects: readonly Shipped[]): ByName =>
  Object.fromEntries(objects.map((object) => [`${object.kind} ${object.metadata.name}`, object]));

/** The object `key`, its kind and name. @throws Error when there is none */
export const pick = (objects: ByName, key: string): Shipped => {
  const found = objects[key];
  if (!found) throw new Error(`there is no ${key}`);
  return found;
};

const WORKLOADS = new Set(['Deployment', 'StatefulSet', 'DaemonSet', 'Job']);

export const isWorkload = ({ kind }: Manifest): boolean => WORKLOADS.has(kind);

/** The rules of a role; none of anything else. */
export const rulesOf = ({ kind, rules = [] }: Shipped): readonly Rule[] => (kind.endsWith('Role') ? rules : []);
