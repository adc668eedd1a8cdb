/** Type of the orders that `payload` of data.js makes. Its three rules check a delivery. */
export const ORDER_TYPE = {
  name: 'order',
  version: 1,
  payloadSchema: {
    type: 'object',
    properties: {
      callId: { type: 'string', maxLength: 64 },
      input: {
        type: 'object',
        properties: {
          sku: { type: 'string', pattern: '^[A-Z]{2}-[0-9]{4}$' },
          quantity: { type: 'integer', minimum: 1 },
          unitPrice: { $ref: '#/$defs/money' },
        },
        required: ['sku', 'quantity', 'unitPrice'],
      },
    },
    required: ['callId', 'input'],
    $defs: {
      money: {
        type: 'object',
        properties: {
          amount: { type: 'string', maxLength: 32 },
          currency: { type: 'string', minLength: 3, maxLength: 3 },
        },
        required: ['amount', 'currency'],
      },
    },
  },
  evidenceSchema: {
    type: 'object',
    properties: {
      deliveryNote: { type: 'string', maxLength: 64 },
      quantity: { type: 'integer', minimum: 0 },
      unitPrice: { type: 'object', required: ['amount', 'currency'] },
      sealIntact: { type: 'boolean' },
    },
    required: ['deliveryNote', 'quantity', 'unitPrice'],
  },
  rules: [
    {
      id: 'quantity',
      op: 'within',
      expected: '/input/quantity',
      actual: '/quantity',
      tolerance: { percent: '5' },
    },
    { id: 'price', op: 'atMost', expected: '/input/unitPrice', actual: '/unitPrice' },
    { id: 'currency', op: 'equals', expected: '/input/unitPrice/currency', actual: '/unitPrice/currency' },
  ],
}
