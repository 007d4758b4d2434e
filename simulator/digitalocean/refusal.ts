/** An answer of the API that is an error: thrown by the model, written by the server as `{id, message, request_id}`. */
export class Refusal extends Error {
  readonly status: number;
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, id: string, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = 'Refusal';
    this.status = status;
    this.id = id;
    this.headers = headers;
  }
}

export const notFound = (): Refusal => new Refusal(404, 'not_found', 'The resource you requested could not be found.');
export const unauthorized = (): Refusal => new Refusal(401, 'unauthorized', 'Unable to authenticate you.');
export const unprocessable = (message: string): Refusal => new Refusal(422, 'unprocessable_entity', message);
export const badRequest = (message: string): Refusal => new Refusal(400, 'bad_request', message);
export const conflict = (message: string): Refusal => new Refusal(409, 'conflict', message);

/** Seen often on a droplet that was just created or on which another event runs (terraform-provider-digitalocean issue 1034). */
export const dropletPending = (): Refusal => unprocessable('Droplet already has a pending event.');
/** Seen when an address is touched again before its last action ended (doctl issue 493). */
export const addressPending = (label: string): Refusal => unprocessable(`The ${label} already has a pending event.`);
export const quotaReached = (label: string): Refusal =>
  unprocessable(`You have reached the ${label} limit for your account. Contact support to request an increase.`);
