import { z } from 'zod'
import { publishedKey } from './common.ts'

/** The published keys, which docs/formats/export.md describes. */
export const keyDocument = z.strictObject({ keys: z.array(publishedKey) })
