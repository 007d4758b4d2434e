import { bindingCauses, policyCauses } from '../admission/rules.ts';
import type { Cause } from '../objects.ts';
import { at, equal, isObject, type Json, type JsonObject, type KubeObject } from '../objects.ts';
import type { Resource } from '../resource.ts';
import { definitionCauses } from './definition-rules.ts';
import { serviceCauses } from './services.ts';

const required = (field: string): Cause => ({ reason: 'FieldValueRequired', message: 'Required value', field });

const podCauses = (spec: Json | undefined, path: string): Cause[] => {
  const containers = at(spec, 'containers');
  if (!Array.isArray(containers) || containers.length === 0) return [required(`${path}.containers`)];
  return containers.flatMap((container, index) => {
    const causes: Cause[] = [];
    if (!at(container, 'name')) causes.push(required(`${path}.containers[${index}].name`));
    if (!at(container, 'image')) causes.push(required(`${path}.containers[${index}].image`));
    return causes;
  });
};

/** What may change in the spec of a pod that exists. Taken out of both sides, the rest must be equal. */
const withoutMutable = (pod: KubeObject): JsonObject => {
  const {
    activeDeadlineSeconds: _deadline,
    tolerations: _tolerations,
    terminationGracePeriodSeconds: _grace,
    ...spec
  } = isObject(pod.spec) ? pod.spec : {};
  const withoutImages = (list: Json | undefined): Json =>
    (Array.isArray(list) ? list : []).map((container) =>
      isObject(container) ? { ...container, image: '', imagePullPolicy: '' } : container,
    );
  return { ...spec, containers: withoutImages(spec.containers), initContainers: withoutImages(spec.initContainers) };
};

const podChangeCauses = (object: KubeObject, old: KubeObject | undefined, subresource: string | undefined): Cause[] => {
  if (!old || subresource === 'binding' || equal(withoutMutable(object), withoutMutable(old))) return [];
  const message =
    'Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';
  return [{ reason: 'FieldValueForbidden', message, field: 'spec' }];
};

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

const nodeCauses = (object: KubeObject): Cause[] => {
  const taints = at(object, 'spec', 'taints');
  return (Array.isArray(taints) ? taints : []).flatMap((taint, index): Cause[] => {
    // The real server names the field so, although taints lie in spec.
    const field = `metadata.taints[${index}].effect`;
    const effect = at(taint, 'effect');
    if (!effect) return [required(field)];
    if (EFFECTS.includes(String(effect))) return [];
    const message = `Unsupported value: ${JSON.stringify(effect)}: supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"`;
    return [{ reason: 'FieldValueNotSupported', message, field }];
  });
};

const providerChanged = (object: KubeObject, old: KubeObject | undefined): Cause[] => {
  const before = at(old, 'spec', 'providerID');
  if (!before || before === at(object, 'spec', 'providerID')) return [];
  const message = 'Forbidden: node updates may not change providerID except from "" to valid';
  return [{ reason: 'FieldValueForbidden', message, field: 'spec.providerID' }];
};

const unchanged = (field: string, object: KubeObject, old: KubeObject): Cause[] => {
  if (equal(object[field] ?? null, old[field] ?? null)) return [];
  return [{ reason: 'FieldValueInvalid', message: `Invalid value: ${JSON.stringify(object[field] ?? null)}: field is immutable`, field }];
};

/** Of an Event by the newer API only its series changes. Told in the words of v1, as it is stored. */
const eventCauses = (object: KubeObject, old: KubeObject): Cause[] =>
  object.apiVersion === 'v1'
    ? []
    : Object.entries(EVENT_FIELDS).flatMap(([served, stored]) =>
        unchanged(served, object, old).map((cause) => ({ ...cause, field: stored })),
      );

const EVENT_FIELDS: Readonly<Record<string, string>> = {
  regarding: 'involvedObject',
  reason: 'reason',
  note: 'message',
  type: 'type',
  eventTime: 'eventTime',
  action: 'action',
  related: 'related',
  reportingController: 'reportingController',
  reportingInstance: 'reportingInstance',
};

/** The rules of built-in kinds that operators run into. The real server has many more. */
export const kindCauses = (
  resource: Resource,
  object: KubeObject,
  old: KubeObject | undefined,
  options: { subresource?: string | undefined; minor?: number },
): Cause[] => {
  switch (resource.kind) {
    case 'Pod':
      return [...podCauses(at(object, 'spec'), 'spec'), ...podChangeCauses(object, old, options.subresource)];
    case 'Job':
      return podCauses(at(object, 'spec', 'template', 'spec'), 'spec.template.spec');
    case 'Service':
      return serviceCauses(object, old, options);
    case 'Node':
      // An update is checked as a new node is, and the taints once more.
      return [...nodeCauses(object), ...(old ? nodeCauses(object) : []), ...providerChanged(object, old)];
    case 'EndpointSlice':
      return old ? unchanged('addressType', object, old) : [];
    case 'Event':
      return old ? eventCauses(object, old) : [];
    case 'CustomResourceDefinition':
      return definitionCauses(object);
    case 'ValidatingAdmissionPolicy':
      return policyCauses(object);
    case 'ValidatingAdmissionPolicyBinding':
      return bindingCauses(object);
    default:
      return [];
  }
};
