import type { AdmissionFacts, AdmissionOperation, Verdict } from '../../machines/migration/admission.ts';

/** A body that is not a valid AdmissionReview. */
export class BadReview extends Error {}

export interface Review {
  readonly uid: string;
  /** A resource of the group paas.org. */
  readonly resource: string;
  readonly facts: AdmissionFacts;
}

const API_VERSION = 'admission.k8s.io/v1';
const OPERATIONS: readonly string[] = ['CREATE', 'UPDATE', 'DELETE'] satisfies AdmissionOperation[];

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown, name: string): Fields => {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw new BadReview(`${name} must be an object`);
};

const textIn = (fields: Fields, name: string): string => {
  const value = fields[name];
  if (typeof value === 'string' && value !== '') return value;
  throw new BadReview(`${name} must be a text`);
};

const isOperation = (text: string): text is AdmissionOperation => OPERATIONS.includes(text);

/** Parses the AdmissionReview in the body of a request. @throws BadReview */
export const readReview = (body: string): Review => {
  const review = fieldsOf(parsed(body), 'the body');
  if (review.apiVersion !== API_VERSION || review.kind !== 'AdmissionReview')
    throw new BadReview(`an AdmissionReview of ${API_VERSION} is wanted`);
  const request = fieldsOf(review.request, 'request');
  const operation = textIn(request, 'operation');
  if (!isOperation(operation)) throw new BadReview(`operation must be one of ${OPERATIONS.join(', ')}`);
  const resource = fieldsOf(request.resource, 'request.resource');
  if (resource.group !== 'paas.org') throw new BadReview('request.resource must be of the group paas.org');
  const user = textIn(fieldsOf(request.userInfo, 'request.userInfo'), 'username');
  const { object = null, oldObject = null } = request;
  return { uid: textIn(request, 'uid'), resource: textIn(resource, 'resource'), facts: { operation, user, object, oldObject } };
};

const parsed = (body: string): unknown => {
  try {
    return JSON.parse(body);
  } catch {
    // The parser's own message would quote the input.
    throw new BadReview('the body is no JSON');
  }
};

/** The response, as JSON text. */
export const answerOf = (uid: string, verdict: Verdict): string => {
  const refusal =
    verdict.kind === 'denied' ? { status: { status: 'Failure', message: verdict.message, reason: 'Forbidden', code: 403 } } : {};
  return JSON.stringify({
    apiVersion: API_VERSION,
    kind: 'AdmissionReview',
    response: { uid, allowed: verdict.kind === 'allowed', ...refusal },
  });
};
