import { Refusal as HttpRefusal } from '../http/refusal.ts';

export interface ApiError {
  readonly code: number;
  readonly message: string;
  readonly error_chain?: readonly ApiError[];
}

/** Written as an envelope without success. */
export class Refusal extends HttpRefusal {
  readonly errors: readonly ApiError[];

  constructor(status: number, errors: readonly ApiError[], headers: Readonly<Record<string, string>> = {}) {
    super(status, errors.map(({ code, message }) => `${code} ${message}`).join(', '), headers);
    this.errors = errors;
  }
}

const refusal = (status: number, code: number, message: string): Refusal => new Refusal(status, [{ code, message }]);

/** Codes and texts as users report them in public issues (jeessy2/ddns-go, timothymiller/cloudflare-ddns, terraform-provider-cloudflare). */
export const missingToken = (): Refusal => refusal(400, 9106, 'Missing X-Auth-Key, X-Auth-Email or Authorization headers');
export const malformedToken = (): Refusal =>
  new Refusal(400, [
    { code: 6003, message: 'Invalid request headers', error_chain: [{ code: 6111, message: 'Invalid format for Authorization header' }] },
  ]);
export const invalidToken = (): Refusal => refusal(403, 9109, 'Invalid access token');
export const forbiddenZone = (): Refusal => refusal(403, 9109, 'Unauthorized to access requested resource');
export const forbidden = (): Refusal => refusal(403, 10_000, 'Authentication error');

/** 400 for what can be no identifier, 404 for one that is not known. */
export const noRoute = (path: string, status: 400 | 404): Refusal =>
  new Refusal(status, [
    { code: 7003, message: `Could not route to ${path}, perhaps your object identifier is invalid?` },
    { code: 7000, message: 'No route for that URI' },
  ]);
export const methodNotAllowed = (method: string): Refusal => refusal(405, 7001, `Method ${method} not available for that URI.`);
export const malformedBody = (): Refusal => refusal(400, 6007, 'Malformed JSON in request body');
export const noRecord = (): Refusal => refusal(404, 81_044, 'Record does not exist.');

export const invalid = (code: number, message: string): Refusal => refusal(400, code, message);
export const invalidTtl = (): Refusal =>
  new Refusal(400, [
    {
      code: 1004,
      message: 'DNS Validation Error',
      error_chain: [{ code: 9021, message: 'TTL must be between 60 and 86400 seconds, or 1 for Automatic.' }],
    },
  ]);
export const identicalRecord = (): Refusal => refusal(400, 81_058, 'An identical record already exists.');
export const hostTaken = (): Refusal => refusal(400, 81_053, 'An A, AAAA, or CNAME record with that host already exists.');
export const cnameTaken = (): Refusal => refusal(400, 81_054, 'A CNAME record with that host already exists.');

export const tooManyRequests = (headers: Readonly<Record<string, string>>): Refusal =>
  new Refusal(429, [{ code: 971, message: 'Please wait and consider throttling your request speed' }], headers);
