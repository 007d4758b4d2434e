import { isForbidden, isNotFound } from '../client/api-error.ts';
import type { Connection } from '../client/connection.ts';

const GROUP = '/apis/admissionregistration.k8s.io/v1';

/** Whether the cluster evaluates ValidatingAdmissionPolicies of v1. @throws ServerUnreachable | ApiError */
export const servesPolicies = async (connection: Connection): Promise<boolean> => {
  const { resources = [] } = (await connection.send({ method: 'GET', path: GROUP })) as {
    readonly resources?: readonly { readonly name: string }[];
  };
  return resources.some(({ name }) => name === 'validatingadmissionpolicies');
};

/** Whether a ValidatingAdmissionPolicy of this name is bound by a binding of the same name; null when reading it is forbidden. @throws ServerUnreachable | ApiError */
export const isPolicyBound = async (connection: Connection, name: string): Promise<boolean | null> => {
  try {
    for (const plural of ['validatingadmissionpolicies', 'validatingadmissionpolicybindings']) {
      await connection.send({ method: 'GET', path: `${GROUP}/${plural}/${name}` });
    }
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    if (isForbidden(error)) return null;
    throw error;
  }
};
