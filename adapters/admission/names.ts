/** Names used in existing clusters by the allocator that this operator replaces: an upgrade finds its own objects again. */

/** The Secret with the certificates, in the operator's namespace. */
export const SECRET = 'vip-allocator-operator-webhook-server-cert';
/** The ValidatingWebhookConfiguration whose CA bundle the operator maintains. */
export const CONFIGURATION = 'vip-allocator-operator-validating-webhook-configuration';
/** The default Service in front of the webhook, in the operator's namespace. */
export const SERVICE = 'vip-allocator-operator-webhook-service';

export const IP_PATH = '/validate-paas-org-v1-ip';
export const VIRTUAL_IP_PATH = '/validate-paas-org-v1-virtualip';
