import type { JobTemplates, SecretRef } from '../../../actors/ports/directory.ts';
import { ProviderError } from '../../../actors/ports/errors.ts';
import type { JobRequest } from '../../../actors/ports/job-driver.ts';
import { API_VERSION } from '../../../crds/generated/clusterroutedipclass.ts';
import { FINALIZER, type Fields, fieldsOf } from '../../../machines/model/types.ts';
import { addressLabel, INPUT_HASH, inputHash, jobName, LABELS, labelValue, REQUEST, subjectLabel } from './names.ts';
import { restrictedContext } from './security.ts';

export interface Rendering {
  readonly templates: Omit<JobTemplates, 'updateRoutedIP' | 'updateFirewall'>;
  /** The class's JobSpec for the purpose. */
  readonly template: unknown;
  readonly secrets: readonly SecretRef[];
  readonly request: JobRequest;
  /** The Pod security standard that the namespace enforces; empty for none. */
  readonly standard: string;
  /** The time now, ms since the epoch. */
  readonly now: number;
}

const DEADLINE_SECONDS = 300;
/** A safety net: an ended Job is deleted as soon as its outcome was received. */
const KEEP_SECONDS = 3600;
/** Limit for all annotations of an object together, keys and values, in bytes. */
const LARGEST_ANNOTATIONS = 256 * 1024;

const FOLDER = '/etc/routedip';
const VOLUME = 'routedip-request';

/** How long a Job of this template may run, ms. */
export const deadlineMsOf = (template: unknown): number => {
  const { activeDeadlineSeconds } = fieldsOf(template);
  return (typeof activeDeadlineSeconds === 'number' ? activeDeadlineSeconds : DEADLINE_SECONDS) * 1000;
};

/** The Job of one request: the template with the request, a deadline and labels, and in a namespace that enforces the standard `restricted` with what that
 *  requires. The template's images, commands, resources, accounts and security settings are kept; the contract's variables are ours.
 *  @throws ProviderError Invalid when the request is too large */
export const renderJob = (rendering: Rendering): Fields => {
  const { templates, request } = rendering;
  const template = fieldsOf(rendering.template);
  const labels = labelsOf(rendering);
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: jobName(request),
      namespace: templates.namespace,
      labels,
      annotations: { [INPUT_HASH]: inputHash(request) },
      // Absence must mean that it never existed: otherwise it would be unknown whether an address was created.
      ...(request.action === 'create' && { finalizers: [FINALIZER] }),
      ownerReferences: [
        { apiVersion: API_VERSION, kind: templates.owner.kind, name: templates.owner.name, uid: templates.owner.uid, controller: true },
      ],
    },
    spec: {
      ...copy(template),
      backoffLimit: template.backoffLimit ?? 0,
      activeDeadlineSeconds: template.activeDeadlineSeconds ?? DEADLINE_SECONDS,
      ttlSecondsAfterFinished: template.ttlSecondsAfterFinished ?? KEEP_SECONDS,
      template: podTemplate(rendering, fieldsOf(template.template), labels),
    },
  };
};

const labelsOf = ({ templates, request }: Rendering): Readonly<Record<string, string>> => {
  const { routedIP } = request;
  const address = addressLabel(request);
  return {
    [LABELS.purpose]: request.purpose,
    [LABELS.action]: request.action,
    [LABELS.class]: labelValue(templates.owner.name),
    [LABELS.subject]: subjectLabel(request.subject),
    ...(address !== '' && { [LABELS.address]: address }),
    [LABELS.epoch]: String(request.epoch),
    ...(routedIP && {
      [LABELS.namespace]: labelValue(routedIP.namespace),
      [LABELS.name]: labelValue(routedIP.name),
      [LABELS.uid]: labelValue(routedIP.uid),
    }),
  };
};

const podTemplate = (rendering: Rendering, template: Fields, labels: Readonly<Record<string, string>>): Fields => {
  const metadata = fieldsOf(template.metadata);
  const spec = fieldsOf(template.spec);
  const annotations = { ...fieldsOf(metadata.annotations), [REQUEST]: JSON.stringify(rendering.request.request ?? {}) };
  refuseLarge(rendering, annotations);
  const env = envOf(rendering);
  // A Windows Pod must not set the fields that the standard requires of others.
  const isRestricted = rendering.standard === 'restricted' && fieldsOf(spec.os).name !== 'windows';
  const inContainer = (container: unknown): Fields => ({
    ...completed(fieldsOf(container), env, rendering.secrets),
    ...(isRestricted && { securityContext: restrictedContext(spec, fieldsOf(container)) }),
  });
  return {
    ...copy(template),
    metadata: { ...copy(metadata), labels: { ...fieldsOf(metadata.labels), ...labels }, annotations },
    spec: {
      ...copy(spec),
      containers: listOf(spec.containers).map(inContainer),
      ...(spec.initContainers !== undefined && { initContainers: listOf(spec.initContainers).map(inContainer) }),
      volumes: [...listOf(spec.volumes), requestVolume],
    },
  };
};

const requestVolume = {
  name: VOLUME,
  downwardAPI: { items: [{ path: 'request.json', fieldRef: { fieldPath: `metadata.annotations['${REQUEST}']` } }] },
};

const refuseLarge = ({ request }: Rendering, annotations: Fields): void => {
  const bytes = Object.entries(annotations).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(String(value)),
    0,
  );
  if (bytes <= LARGEST_ANNOTATIONS) return;
  throw new ProviderError(
    'Invalid',
    `${request.purpose} Job (${request.action}): its request takes ${bytes} bytes of the ${LARGEST_ANNOTATIONS} that the annotations of a Pod may have`,
    { conditionReason: request.purpose === 'updateRoutedIP' ? 'RoutedIPJobFailed' : 'FirewallJobFailed' },
  );
};

/** Version 1 of the contract. */
const envOf = ({ templates, template, request, now }: Rendering): Readonly<Record<string, string>> => ({
  ROUTEDIP_CONTRACT: '1',
  ROUTEDIP_ACTION: request.action,
  ROUTEDIP_CLASS: templates.className,
  ...request.env,
  ROUTEDIP_EPOCH: String(request.epoch),
  ROUTEDIP_DEADLINE: new Date(now + deadlineMsOf(template)).toISOString(),
  ROUTEDIP_FIREWALL_MAP_FILE: `${FOLDER}/request.json`,
});

/** Our variables come first, so that the template's own may refer to them: `$(VAR)` refers only to earlier entries. */
const completed = (container: Fields, env: Readonly<Record<string, string>>, secrets: readonly SecretRef[]): Fields => {
  const own = listOf(container.env).filter((entry) => !Object.hasOwn(env, String(fieldsOf(entry).name)));
  const from = secrets.map(({ name, optional }) => ({ secretRef: { name, ...(optional && { optional }) } }));
  return {
    ...copy(container),
    env: [...Object.entries(env).map(([name, value]) => ({ name, value })), ...own],
    // If two sources have the same key, the later one wins: the template's own.
    ...((from.length > 0 || container.envFrom !== undefined) && { envFrom: [...from, ...listOf(container.envFrom)] }),
    volumeMounts: [...listOf(container.volumeMounts), { name: VOLUME, mountPath: FOLDER, readOnly: true }],
  };
};

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? copy(value) : []);
const copy = <T>(value: T): T => structuredClone(value);
