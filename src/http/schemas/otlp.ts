import { z } from 'zod'

export const otlpSettings = z
  .strictObject({
    take: z
      .enum(['agents', 'all'])
      .describe('agents: accept only spans and logs about actions of agents; all: accept all'),
    content: z
      .enum(['digest', 'keep'])
      .describe('attributes with content. digest: store their digests; keep: store the values'),
    rest: z
      .enum(['reject', 'drop'])
      .describe(
        'spans and logs that are not accepted. reject: the answer reports their number; drop: it does not',
      ),
  })
  .meta({ id: 'OtlpSettings' })

/**
 * The settings are a member of the body, because a missing body is read as null. If null alone meant "default
 * settings", a missing body would reset the settings.
 */
export const otlpBody = z
  .strictObject({ otlp: otlpSettings.nullable().describe('null: the defaults') })
  .meta({ examples: [{ otlp: { take: 'agents', content: 'digest', rest: 'drop' } }, { otlp: null }] })
export const otlpAnswer = z.strictObject({ otlp: otlpSettings.nullable() })

/** Body of an export request, in JSON or protobuf. A thread parses it (src/records/otlp). */
export const exportRequest = z.looseObject({}).describe('an Export…ServiceRequest of OTLP 1.x')

export const rpcStatus = z
  .strictObject({
    code: z.int().describe('a value of google.rpc.Code'),
    message: z.string().describe('`code: detail`, as in a problem document (docs/reference/errors.md)'),
  })
  .meta({ id: 'RpcStatus' })

export const exportAnswer = z.strictObject({
  partialSuccess: z
    .strictObject({
      rejectedSpans: z.string().optional(),
      rejectedLogRecords: z.string().optional(),
      errorMessage: z.string(),
    })
    .describe('absent: everything was accepted')
    .optional(),
})
