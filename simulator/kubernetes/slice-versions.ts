import { isObject, type JsonObject, type KubeObject } from './objects.ts';

/** What v1beta1 keeps in a map, v1 has as fields. */
const NODE = 'kubernetes.io/hostname';
const ZONE = 'topology.kubernetes.io/zone';

const endpointsOf = (slice: KubeObject, convert: (endpoint: JsonObject) => JsonObject): KubeObject => {
  const { endpoints } = slice;
  return Array.isArray(endpoints) ? { ...slice, endpoints: endpoints.map((one) => (isObject(one) ? convert(one) : one)) } : slice;
};

const filled = (key: string, map: JsonObject): JsonObject => (Object.keys(map).length > 0 ? { [key]: map } : {});

/** An EndpointSlice of v1 as v1beta1 has it. */
export const toBetaSlice = (slice: KubeObject): KubeObject =>
  endpointsOf(slice, ({ deprecatedTopology, zone, ...endpoint }) => {
    const topology = {
      ...(isObject(deprecatedTopology) ? deprecatedTopology : {}),
      ...(typeof zone === 'string' ? { [ZONE]: zone } : {}),
      ...(typeof endpoint.nodeName === 'string' ? { [NODE]: endpoint.nodeName } : {}),
    };
    return { ...endpoint, ...filled('topology', topology) };
  });

/** An EndpointSlice of v1beta1 as v1 has it. A node that was named in the topology alone stays there. */
export const fromBetaSlice = (slice: KubeObject): KubeObject =>
  endpointsOf(slice, ({ topology, ...endpoint }) => {
    const { [ZONE]: zone, [NODE]: node, ...rest } = isObject(topology) ? topology : {};
    const left = node === undefined || node === endpoint.nodeName ? rest : { ...rest, [NODE]: node };
    return { ...endpoint, ...(zone === undefined ? {} : { zone }), ...filled('deprecatedTopology', left) };
  });
