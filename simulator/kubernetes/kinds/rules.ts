import { bindingCauses, policyCauses } from '../admission/rules.ts';
import type { Cause } from '../errors.ts';
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
    'Forbidden: pod updates may not change fields other than `spec.containers[*].image`, `spec.initContainers[*].image`, `spec.activeDeadlineSeconds` or `spec.tolerations` (only additions to existing tolerations)';
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
  const forbidden = (field: string, why: string): Cause => ({ reason: 'FieldValueForbidden', message: `Forbidden: ${why}`, field });
  return [
    forbidden('spec.providerID', 'node updates may not change providerID except from "" to valid'),
    forbidden(
      '[]',
      'node updates may only change labels, taints, or capacity (or configSource, if the DynamicKubeletConfig feature gate is enabled)',
    ),
  ];
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
      return [...nodeCauses(object), ...providerChanged(object, old)];
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
