import { Refusal as HttpRefusal } from '../http/refusal.ts';

/** Written as `{id, message, request_id}`. */
export class Refusal extends HttpRefusal {
  readonly id: string;

  constructor(status: number, id: string, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(status, message, headers);
    this.id = id;
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
