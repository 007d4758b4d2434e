/** Types of fields: those of protobuf; `int` of 0 and `string` of '' stand for absent ones, `optional int` does not; `time` is seconds and nanoseconds; `*` marks lists. */
export type FieldType =
  | 'string'
  | 'int'
  | 'optional int'
  | 'bool'
  | 'bytes'
  | 'time'
  | 'intOrString'
  | 'map string'
  | 'map bytes'
  | MessageName;

type MessageName =
  | 'ObjectMeta'
  | 'OwnerReference'
  | 'Reference'
  | 'Preconditions'
  | 'DeleteOptions'
  | 'ServicePort'
  | `${string}.${string}`;

export interface MessageField {
  name: string;
  type: FieldType;
  repeated: boolean;
}

type Message = Readonly<Record<number, MessageField>>;

const one = (name: string, type: FieldType = 'string'): MessageField => ({ name, type, repeated: false });
const many = (name: string, type: FieldType = 'string'): MessageField => ({ name, type, repeated: true });

const meta = one('metadata', 'ObjectMeta');

/** The messages that kubectl sends as protobuf: what it creates by its own flags and not from a file. Numbers: the `generated.proto` files of k8s.io/api and k8s.io/apimachinery. */
export const MESSAGES: Readonly<Record<string, Message>> = {
  ObjectMeta: {
    1: one('name'),
    2: one('generateName'),
    3: one('namespace'),
    5: one('uid'),
    6: one('resourceVersion'),
    7: one('generation', 'int'),
    8: one('creationTimestamp', 'time'),
    9: one('deletionTimestamp', 'time'),
    10: one('deletionGracePeriodSeconds', 'optional int'),
    11: one('labels', 'map string'),
    12: one('annotations', 'map string'),
    13: many('ownerReferences', 'OwnerReference'),
    14: many('finalizers'),
  },
  OwnerReference: {
    1: one('kind'),
    3: one('name'),
    4: one('uid'),
    5: one('apiVersion'),
    6: one('controller', 'bool'),
    7: one('blockOwnerDeletion', 'bool'),
  },
  DeleteOptions: {
    1: one('gracePeriodSeconds', 'optional int'),
    2: one('preconditions', 'Preconditions'),
    3: one('orphanDependents', 'bool'),
    4: one('propagationPolicy'),
    5: many('dryRun'),
  },
  Preconditions: { 1: one('uid'), 2: one('resourceVersion') },
  Reference: { 1: one('name') },
  ConfigMap: { 1: meta, 2: one('data', 'map string'), 3: one('binaryData', 'map bytes'), 4: one('immutable', 'bool') },
  Secret: { 1: meta, 2: one('data', 'map bytes'), 3: one('type'), 4: one('stringData', 'map string'), 5: one('immutable', 'bool') },
  ServiceAccount: { 1: meta, 3: many('imagePullSecrets', 'Reference'), 4: one('automountServiceAccountToken', 'bool') },
  Namespace: { 1: meta, 2: one('spec', 'Namespace.spec') },
  'Namespace.spec': { 1: many('finalizers') },
  Service: { 1: meta, 2: one('spec', 'Service.spec') },
  'Service.spec': {
    1: many('ports', 'ServicePort'),
    2: one('selector', 'map string'),
    3: one('clusterIP'),
    4: one('type'),
    5: many('externalIPs'),
    7: one('sessionAffinity'),
    8: one('loadBalancerIP'),
    10: one('externalName'),
    11: one('externalTrafficPolicy'),
    18: many('clusterIPs'),
  },
  ServicePort: {
    1: one('name'),
    2: one('protocol'),
    3: one('port', 'int'),
    4: one('targetPort', 'intOrString'),
    5: one('nodePort', 'int'),
  },
  SelfSubjectAccessReview: { 1: meta, 2: one('spec', 'Access.spec') },
  'Access.spec': { 1: one('resourceAttributes', 'Access.resource'), 2: one('nonResourceAttributes', 'Access.path') },
  'Access.resource': {
    1: one('namespace'),
    2: one('verb'),
    3: one('group'),
    4: one('version'),
    5: one('resource'),
    6: one('subresource'),
    7: one('name'),
  },
  'Access.path': { 1: one('path'), 2: one('verb') },
  SelfSubjectRulesReview: { 1: meta, 2: one('spec', 'Rules.spec') },
  'Rules.spec': { 1: one('namespace') },
  SelfSubjectReview: { 1: meta },
  TokenRequest: { 1: meta, 2: one('spec', 'Token.spec') },
  'Token.spec': { 1: many('audiences'), 4: one('expirationSeconds', 'optional int') },
  Role: { 1: meta, 2: many('rules', 'Role.rule') },
  ClusterRole: { 1: meta, 2: many('rules', 'Role.rule') },
  'Role.rule': { 1: many('verbs'), 2: many('apiGroups'), 3: many('resources'), 4: many('resourceNames'), 5: many('nonResourceURLs') },
  RoleBinding: { 1: meta, 2: many('subjects', 'Role.subject'), 3: one('roleRef', 'Role.ref') },
  ClusterRoleBinding: { 1: meta, 2: many('subjects', 'Role.subject'), 3: one('roleRef', 'Role.ref') },
  'Role.subject': { 1: one('kind'), 2: one('apiGroup'), 3: one('name'), 4: one('namespace') },
  'Role.ref': { 1: one('apiGroup'), 2: one('kind'), 3: one('name') },
  PodDisruptionBudget: { 1: meta, 2: one('spec', 'Budget.spec') },
  'Budget.spec': { 1: one('minAvailable', 'intOrString'), 2: one('selector', 'Label.selector'), 3: one('maxUnavailable', 'intOrString') },
  'Label.selector': { 1: one('matchLabels', 'map string'), 2: many('matchExpressions', 'Label.expression') },
  'Label.expression': { 1: one('key'), 2: one('operator'), 3: many('values') },
  Job: { 1: meta, 2: one('spec', 'Job.spec') },
  'Job.spec': {
    1: one('parallelism', 'optional int'),
    2: one('completions', 'optional int'),
    3: one('activeDeadlineSeconds', 'optional int'),
    4: one('selector', 'Label.selector'),
    5: one('manualSelector', 'bool'),
    6: one('template', 'Pod.template'),
    7: one('backoffLimit', 'optional int'),
    8: one('ttlSecondsAfterFinished', 'optional int'),
  },
  'Pod.template': { 1: meta, 2: one('spec', 'Pod.spec') },
  'Pod.spec': { 2: many('containers', 'Pod.container'), 3: one('restartPolicy'), 8: one('serviceAccountName'), 10: one('nodeName') },
  'Pod.container': { 1: one('name'), 2: one('image'), 3: many('command'), 4: many('args'), 5: one('workingDir') },
  Eviction: { 1: meta, 2: one('deleteOptions', 'DeleteOptions') },
};
