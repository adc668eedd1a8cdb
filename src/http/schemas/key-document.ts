import { z } from 'zod'
import { publishedKey } from './common.ts'

/** Described in docs/formats/export.md */
export const keyDocument = z.strictObject({ keys: z.array(publishedKey) })
