/** What a cloud charges for one address of a family, a month. */
export interface Price {
  readonly assigned: number;
  readonly unassigned: number;
}

/** A cloud that is not here charges nobody knows what. */
export interface PriceList {
  /** ISO 4217. */
  readonly currency: string;
  readonly source: string;
  /** The day for which the prices are known to have been published. */
  readonly asOf: string;
  readonly IPv4: Price;
  readonly IPv6: Price;
}

/** Data alone: a price that has changed is changed here, with its date. By the name of the cloud. */
export const PRICES: Readonly<Record<string, PriceList>> = {
  digitalocean: {
    currency: 'USD',
    source: 'https://docs.digitalocean.com/products/networking/reserved-ips/details/pricing/',
    asOf: '2026-09-30',
    IPv4: { assigned: 0, unassigned: 5 },
    IPv6: { assigned: 0, unassigned: 0 },
  },
};
