/** The objects that the API repeats inside others: regions, sizes, images. One size and image are enough to have their shape. */

const names: Readonly<Record<string, string>> = {
  nyc: 'New York',
  sfo: 'San Francisco',
  ams: 'Amsterdam',
  fra: 'Frankfurt',
  lon: 'London',
  sgp: 'Singapore',
  tor: 'Toronto',
  blr: 'Bangalore',
  syd: 'Sydney',
};

export const defaultRegions: readonly string[] = ['nyc1', 'nyc3', 'sfo3', 'ams3', 'fra1', 'lon1', 'sgp1', 'tor1', 'blr1', 'syd1'];
export const defaultSize = 's-2vcpu-4gb';
export const defaultImage = 'debian-12-x64';

export function regionObject(slug: string): Record<string, unknown> {
  const prefix = slug.slice(0, 3);
  return {
    name: `${names[prefix] ?? prefix} ${slug.slice(3)}`.trim(),
    slug,
    features: ['backups', 'ipv6', 'metadata', 'install_agent', 'storage', 'image_transfer'],
    available: true,
    sizes: [defaultSize],
  };
}

export const diskInfo = (): readonly Record<string, unknown>[] => [{ type: 'local', size: { amount: 80, unit: 'gib' } }];

export function sizeObject(slug: string, regions: readonly string[]): Record<string, unknown> {
  return {
    slug,
    memory: 4096,
    vcpus: 2,
    disk: 80,
    transfer: 4,
    price_monthly: 24,
    price_hourly: 0.03571,
    regions,
    available: true,
    description: 'Basic',
  };
}

export function imageObject(slug: string, regions: readonly string[]): Record<string, unknown> {
  return {
    id: 112929454,
    name: '12 x64',
    type: 'base',
    distribution: 'Debian',
    slug,
    public: true,
    regions,
    created_at: '2023-06-19T19:27:06Z',
    min_disk_size: 7,
    size_gigabytes: 0.6,
    description: '',
    tags: [],
    status: 'available',
    error_message: '',
  };
}
