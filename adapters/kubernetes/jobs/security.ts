type Fields = Readonly<Record<string, unknown>>;

/** On a Namespace: the Pod security standard that its Pods have to meet. */
export const ENFORCED_STANDARD = 'pod-security.kubernetes.io/enforce';

/** Nobody in particular: any image runs as it that needs no user of its own. */
const NOBODY = 65_532;

/** What the Pod security standard `restricted` asks of a container, where neither it nor its Pod says anything of it. Without it there would be no Pod; what the
 *  template says stands, if it is refused for it too. Whoever says `runAsNonRoot` has an image with a numeric user of its own, which stays. */
export const restrictedContext = (pod: Fields, container: Fields): Fields => {
  const own = fieldsOf(container.securityContext);
  const said = { ...fieldsOf(pod.securityContext), ...own };
  return {
    allowPrivilegeEscalation: false,
    ...(said.runAsNonRoot === undefined && { runAsNonRoot: true, ...(said.runAsUser === undefined && { runAsUser: NOBODY }) }),
    ...(said.seccompProfile === undefined && { seccompProfile: { type: 'RuntimeDefault' } }),
    ...own,
    capabilities: { drop: ['ALL'], ...fieldsOf(own.capabilities) },
  };
};

/** What is null is not said. */
const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null))
    : {};
