import { createHmac, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

export type Sent = {
  readonly body: string
  readonly headers: {
    readonly 'webhook-id': string
    readonly 'webhook-timestamp': string
    readonly 'webhook-signature': string
  }
}

export type Endpoint = ReturnType<typeof makeEndpoint>

/**
 * Makes an endpoint's secret and keys, and signs as a ledger does. It follows Standard Webhooks literally, with
 * node:crypto.
 */
export function makeEndpoint() {
  const hmacKey = randomBytes(32)
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
  const v1 = (content: Buffer) => `v1,${createHmac('sha256', hmacKey).update(content).digest('base64')}`
  const v1a = (content: Buffer) => `v1a,${sign(null, content, privateKey).toString('base64')}`
  return {
    secret: `whsec_${hmacKey.toString('base64')}`,
    publicKey: `whpk_${raw.toString('base64')}`,
    v1,
    v1a,
    send(
      event: unknown,
      { id = 'evt_1', at = new Date(), by = [v1, v1a] }: Partial<{ id: string; at: Date; by: Signer[] }> = {},
    ): Sent {
      const body = typeof event === 'string' ? event : JSON.stringify(event)
      const timestamp = `${Math.floor(at.getTime() / 1000)}`
      const content = Buffer.from(`${id}.${timestamp}.${body}`)
      const signatures = by.map((signer) => signer(content)).join(' ')
      return {
        body,
        headers: { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures },
      }
    },
  }
}

type Signer = (content: Buffer) => string
