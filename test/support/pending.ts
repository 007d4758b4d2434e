/** What a status is until somebody writes it, by the definitions of our kinds. */
export const PENDING = {
  conditions: [
    {
      type: 'Ready',
      status: 'Unknown',
      reason: 'Pending',
      message: 'the operator has not looked at it yet',
      lastTransitionTime: '1970-01-01T00:00:00Z',
    },
  ],
} as const;
