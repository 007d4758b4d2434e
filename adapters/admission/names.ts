/** Names that clusters already have from the allocator that this one takes the place of: what is upgraded finds its own things again. */

/** Holds the certificates, in the operator's namespace. */
export const SECRET = 'vip-allocator-operator-webhook-server-cert';
/** The ValidatingWebhookConfiguration whose trust the operator keeps. */
export const CONFIGURATION = 'vip-allocator-operator-validating-webhook-configuration';
/** The Service in front of the webhook unless another one is named, in the operator's namespace. */
export const SERVICE = 'vip-allocator-operator-webhook-service';

export const IP_PATH = '/validate-paas-org-v1-ip';
export const VIRTUAL_IP_PATH = '/validate-paas-org-v1-virtualip';
