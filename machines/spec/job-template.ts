import { asRecord, list, refuse, text } from '../model/parse.ts';

/** Checks the parts of a class's Job template that the operator depends on; the API server checks the rest when a Job is created. @throws InvalidSpec */
export function checkTemplate(raw: unknown, field: string): void {
  const spec = asRecord(raw, field);
  if (spec.selector !== undefined || spec.manualSelector !== undefined)
    refuse(`${field}: leave out selector and manualSelector, Kubernetes sets the selector of each Job`);
  if (!isOne(spec.completions) || !isOne(spec.parallelism))
    refuse(`${field}: leave out completions and parallelism or set them to 1, each Job runs one pod`);
  if (spec.suspend === true) refuse(`${field}: a Job that is suspended never ends, leave out suspend`);
  const pod = asRecord(asRecord(spec.template ?? {}, `${field}.template`).spec ?? {}, `${field}.template.spec`);
  if (list(pod.containers, `${field}.template.spec.containers`).length === 0)
    refuse(`${field}: template.spec.containers needs at least one container`);
  const restart = text(pod.restartPolicy, `${field}.template.spec.restartPolicy`);
  if (restart !== 'Never' && restart !== 'OnFailure') refuse(`${field}: template.spec.restartPolicy must be Never or OnFailure`);
}

const isOne = (value: unknown): boolean => value === undefined || value === null || value === 1;
