/** The monthly price of a cloud for one address of a family. */
export interface Price {
  readonly assigned: number;
  readonly unassigned: number;
}

/** The prices of clouds not listed here are unknown. */
export interface PriceList {
  /** ISO 4217. */
  readonly currency: string;
  readonly source: string;
  /** The day on which the prices were known to be published. */
  readonly asOf: string;
  readonly IPv4: Price;
  readonly IPv6: Price;
}

/** Data only: update a changed price here, with its date. By the name of the cloud. */
export const PRICES: Readonly<Record<string, PriceList>> = {
  digitalocean: {
    currency: 'USD',
    source: 'https://docs.digitalocean.com/products/networking/reserved-ips/details/pricing/',
    asOf: '2026-09-30',
    IPv4: { assigned: 0, unassigned: 5 },
    IPv6: { assigned: 0, unassigned: 0 },
  },
};
