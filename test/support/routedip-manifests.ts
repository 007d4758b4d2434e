import type { KubeObject } from './kube-apply.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A manifest that is wrong in one way. */
export interface Wrong {
  readonly title: string;
  readonly object: KubeObject;
  /** What every server says; null when only a rule says it, which servers before 1.25 drop. */
  readonly schema: RegExp | null;
  /** What the rule says; null when the schema says enough. */
  readonly rule: string | null;
}

const apiVersion = 'routedip.io/v1alpha1';
const metadata = { name: 'wrong' };

/** A RoutedIP that is accepted, but for `spec`. */
export const routedIP = (spec: Fields = {}): KubeObject => ({
  apiVersion,
  kind: 'RoutedIP',
  metadata,
  spec: { className: 'example.com/a', serviceRef: { serviceName: 'web' }, ...spec },
});

/** A RoutedIPIssuer that is accepted, but for `spec`. */
export const issuer = (spec: Fields = {}): KubeObject => ({
  apiVersion,
  kind: 'RoutedIPIssuer',
  metadata,
  spec: { issuerClass: 'digitalocean', ...spec },
});

/** A ClusterRoutedIPClass that is accepted, but for `spec`. */
export const routedIPClass = (spec: Fields = {}): KubeObject => ({
  apiVersion,
  kind: 'ClusterRoutedIPClass',
  metadata,
  spec: { className: 'example.com/a', ...spec },
});

/** A template that is accepted, but for what is given. */
export const job = (spec: Fields = {}, pod: Fields = {}): Fields => ({
  template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'registry.example/shell:1' }], ...pod } },
  ...spec,
});

const ADDRESS = 'routedIP must be an IPv4 address without leading zeros';
const ONE_CLASS = 'set exactly one of className and issuerRef';
const ONE_NAME = 'serviceRef needs serviceName (or its older spelling name), and not both';
const RANGE = 'nodePortRange must be first-last or first+count within 1-65535';
const NOT = /must not validate the schema \(not\)/;
const PATTERN = /in body should match/;

const wrong = (title: string, object: KubeObject, schema: RegExp | null, rule: string | null = null): Wrong => ({
  title,
  object,
  schema,
  rule,
});

const routedIPs: readonly Wrong[] = [
  wrong('className and issuerRef', routedIP({ issuerRef: { name: 'a' } }), NOT, ONE_CLASS),
  wrong('neither className nor issuerRef', routedIP({ className: undefined }), null, ONE_CLASS),
  wrong('an empty className', routedIP({ className: '' }), /spec\.className.* should be at least 1 chars long/),
  wrong('an issuerRef without name', routedIP({ className: undefined, issuerRef: {} }), /spec\.issuerRef\.name: Required value/),
  wrong('the former issuerClass alone', routedIP({ className: undefined, issuerClass: 'digitalocean' }), null, ONE_CLASS),
  wrong('no spec', { apiVersion, kind: 'RoutedIP', metadata }, /spec: Required value/),
  wrong('no serviceRef', routedIP({ serviceRef: undefined }), /spec\.serviceRef: Required value/),
  wrong('a serviceRef without name', routedIP({ serviceRef: { namespace: 'a' } }), NOT, ONE_NAME),
  wrong('a serviceRef with both names', routedIP({ serviceRef: { serviceName: 'a', name: 'a' } }), NOT, ONE_NAME),
  wrong('an empty serviceName', routedIP({ serviceRef: { serviceName: '' } }), /spec\.serviceRef\.serviceName.* at least 1 chars long/),
  ...['999.1.1.1', 'x1.2.3.4', '1.2.3', '1.2.3.4y', '010.1.1.1', '1.2.3.4/32', '2001:db8::1', '2001:db8:1:2:3:4:5:6'].map((address) =>
    wrong(`the address ${address}`, routedIP({ routedIP: address }), PATTERN, ADDRESS),
  ),
];

const RANGES = ['a-b', '30000', '0-100', '30000-70000', '30000 - 32767', '-', '30000+', '+5', '030000-32767', '30000-32767-40000'];

/** What a class and an issuer have in common. */
const policies = (make: (spec: Fields) => KubeObject): readonly Wrong[] => [
  ...[0, -1].map((limit) =>
    wrong(
      `${limit} addresses a node`,
      make({ perNodeIPLimit: limit }),
      /spec\.perNodeIPLimit in body should be greater than or equal to 1/,
    ),
  ),
  wrong('half an address a node', make({ perNodeIPLimit: 1.5 }), /spec\.perNodeIPLimit: Invalid value/),
  ...RANGES.map((range) => wrong(`the range ${range}`, make({ nodePortRange: range }), PATTERN, RANGE)),
  ...['40000-30000', '30000+40000'].map((range) => wrong(`the range ${range}`, make({ nodePortRange: range }), null, RANGE)),
  ...['0', '80-', '65536', '1-65536', 'sctp/80', 'TCP/80', '080', '80,81', ' 80'].map((port) =>
    wrong(`the port "${port}"`, make({ allowedPorts: [port] }), PATTERN),
  ),
  wrong('no port that is allowed', make({ allowedPorts: [] }), /spec\.allowedPorts in body should have at least 1 items/),
  wrong('no port at most', make({ maxPorts: 0 }), /spec\.maxPorts in body should be greater than or equal to 1/),
  wrong('a reclaim policy that nobody knows', make({ routedIPReclaimPolicy: 'Recycle' }), /spec\.routedIPReclaimPolicy: Unsupported value/),
  wrong('a taint that evicts', make({ taintEffect: 'NoExecute' }), /spec\.taintEffect: Unsupported value: "NoExecute"/),
  wrong('an adoption that nobody knows', make({ adoption: 'Free' }), /spec\.adoption: Unsupported value: "Free"/),
  wrong('an election of the oldest', make({ electionPolicy: 'Oldest' }), /spec\.electionPolicy: Unsupported value: "Oldest"/),
  wrong('a negative pause', make({ assignmentCoolOffSeconds: -1 }), /should be greater than or equal to 0/),
  wrong('a negative grace', make({ recoveryGraceSeconds: -0.5 }), /should be greater than or equal to 0/),
  wrong('no network to be reached from', make({ firewallSources: [] }), /spec\.firewallSources in body should have at least 1 items/),
  wrong('an address for a network', make({ firewallSources: ['10.0.0.1'] }), PATTERN),
  wrong('a network of 33 bits', make({ firewallSources: ['10.0.0.0/33'] }), PATTERN),
  wrong('a network twice', make({ firewallSources: ['::/0', '::/0'] }), /spec\.firewallSources\[1\]: Duplicate value/),
  wrong('a Secret by its bare name', make({ fromSecretsRef: ['token'] }), /spec\.fromSecretsRef(\[0\])?: Invalid value/),
  wrong(
    'a Secret without name',
    make({ fromSecretsRef: [{ optional: true }] }),
    /spec\.fromSecretsRef\.name|spec\.fromSecretsRef\[0\]\.name/,
  ),
];

const classesOnly: readonly Wrong[] = [
  wrong('an IPGroup, and nobody who could assign its addresses', routedIPClass({ ipGroup: 'edge' }), NOT, 'ipGroup needs updateRoutedIP'),
];

const issuersOnly: readonly Wrong[] = [
  wrong('an IPGroup for addresses of a cloud', issuer({ ipGroup: 'edge' }), PATTERN, 'ipGroup must be empty'),
];

const templates = (field: string): readonly Wrong[] => {
  const make = (spec: Fields, pod?: Fields): KubeObject => routedIPClass({ [field]: job(spec, pod) });
  const ONE_POD = `${field}: leave out completions and parallelism or set them to 1, each Job runs one pod`;
  const SELECTOR = `${field}: leave out selector and manualSelector, Kubernetes sets the selector of each Job`;
  const above = /in body should be less than or equal to 1/;
  return [
    wrong('two pods at a time', make({ parallelism: 2 }), above, ONE_POD),
    wrong('two completions', make({ completions: 2 }), above, ONE_POD),
    wrong('no pod at all', make({ parallelism: 0 }), /in body should be greater than or equal to 1/, ONE_POD),
    wrong('a Job that is suspended', make({ suspend: true }), /suspend: Unsupported value: "?true"?/),
    wrong('a pod that is always restarted', make({}, { restartPolicy: 'Always' }), /restartPolicy: Unsupported value: "Always"/),
    wrong('no restartPolicy', make({}, { restartPolicy: undefined }), /template\.spec\.restartPolicy: Required value/),
    wrong(
      'no container',
      make({}, { containers: [] }),
      /should have at least 1 items/,
      `${field}: template.spec.containers needs at least one`,
    ),
    wrong('no list of containers', make({}, { containers: undefined }), /template\.spec\.containers: Required value/),
    wrong('no template', make({ template: undefined }), new RegExp(`spec\\.${field}\\.template: Required value`)),
    wrong('a selector', make({ selector: { matchLabels: { a: 'b' } } }), NOT, SELECTOR),
    wrong('a selector by hand', make({ manualSelector: true }), NOT, SELECTOR),
  ].map((one) => ({ ...one, title: `${one.title} in ${field}` }));
};

/** By kind, manifests that are wrong in one way each. */
export const WRONG: Readonly<Record<'RoutedIP' | 'RoutedIPIssuer' | 'ClusterRoutedIPClass', readonly Wrong[]>> = {
  RoutedIP: routedIPs,
  RoutedIPIssuer: [
    wrong('no issuerClass', issuer({ issuerClass: undefined }), /spec\.issuerClass: Required value/),
    wrong('an unknown issuerClass', issuer({ issuerClass: 'azure' }), /spec\.issuerClass: Unsupported value: "azure"/),
    ...policies(issuer),
    ...issuersOnly,
  ],
  ClusterRoutedIPClass: [
    wrong('no className', routedIPClass({ className: undefined }), /spec\.className: Required value/),
    wrong('a className with a space', routedIPClass({ className: 'a b' }), PATTERN),
    ...policies(routedIPClass),
    ...classesOnly,
    ...templates('updateRoutedIP'),
    ...templates('updateFirewall'),
  ],
};
