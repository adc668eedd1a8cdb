import { z } from 'zod'

export const otlpSettings = z
  .strictObject({
    take: z.enum(['agents', 'all']).describe('spans and logs that tell what an agent did, or all'),
    content: z.enum(['digest', 'keep']).describe('attributes with content by their digest, or as they are'),
    rest: z.enum(['reject', 'drop']).describe('whether the exporter is told how many were not taken'),
  })
  .meta({ id: 'OtlpSettings' })

/** The settings are a member, so that a missing body changes nothing. */
export const otlpBody = z
  .strictObject({ otlp: otlpSettings.nullable().describe('null: as by default') })
  .meta({ examples: [{ otlp: { take: 'agents', content: 'digest', rest: 'drop' } }, { otlp: null }] })
export const otlpAnswer = z.strictObject({ otlp: otlpSettings.nullable() })

/** Body of a request, read in a thread by src/records/otlp. In protobuf it is bytes. */
export const exportRequest = z.looseObject({}).describe('an Export…ServiceRequest of OTLP 1.x')

/** google.rpc.Status. */
export const rpcStatus = z
  .strictObject({
    code: z.int().describe('of google.rpc.Code'),
    message: z.string().describe('`code: detail`, as a problem document has them (docs/reference/errors.md)'),
  })
  .meta({ id: 'RpcStatus' })

export const exportAnswer = z.strictObject({
  partialSuccess: z
    .strictObject({
      rejectedSpans: z.string().optional(),
      rejectedLogRecords: z.string().optional(),
      errorMessage: z.string(),
    })
    .describe('absent: everything was taken')
    .optional(),
})
