import { z } from 'zod'

export function health(status: 'ok' | 'ready') {
  return z.strictObject({ status: z.literal(status), version: z.string() })
}
