import type { Family } from './types.ts';

/** The key of a provider's account: `<cloud>`, with the credentials of the environment, or `<cloud>@<account>`. It names queues and verifications. Nodes are claimed per cloud,
 *  which owns the machines, whatever the account; for an issuer, within its namespace. */

const IPV6 = '/ipv6';

/** The key of an account's list of the addresses of a family: for IPv4 the key of the account. Each list is read separately, so that a failure in one family does not delay the
 *  other. */
export const listKey = (key: string, family: Family): string => (family === 6 ? key + IPV6 : key);

/** The key of the account that has a list. */
export const accountOfList = (name: string): string => (familyOfList(name) === 6 ? name.slice(0, -IPV6.length) : name);

export const familyOfList = (name: string): Family => (name.endsWith(IPV6) ? 6 : 4);

/** The content of a list, for users. */
export const addressesOf = (list: string): string => `the ${familyOfList(list) === 6 ? 'IPv6 ' : ''}addresses of ${accountOfList(list)}`;

/** The cloud of a provider's key. */
export const cloudOf = (key: string): string => key.split('@', 1)[0] ?? key;

/** The metric label for a provider's key: accounts of one cloud share a label, and so do all platforms driven by Jobs, to bound the number of labels. */
export const labelOf = (key: string): string => (isOfJobs(key) ? 'job' : cloudOf(key));

/** An account whose credentials are in a Secret. No namespace contains a dot, so two Secrets never share a key. */
export const secretKey = (cloud: string, namespace: string, secret: string): string => `${cloud}@${namespace}.${secret}`;

/** A platform whose addresses are driven by the Jobs of a ClusterRoutedIPClass. */
export const jobKey = (className: string): string => `job.${className}`;

export const isOfJobs = (key: string): boolean => key.startsWith('job.');

/** A cloud whose firewall is driven by the Jobs of a ClusterRoutedIPClass, its addresses by its API. */
export const mixedKey = (cloud: string, className: string): string => `${cloud}@class.${className}`;

/** Whether the credentials under a key belong to a class or an issuer: no other object may name the key, or any pool could use the Secrets of any namespace. */
export const isPrivate = (key: string): boolean => key.includes('@') || isOfJobs(key);
