import { writeFileSync } from 'node:fs'
import { readOpenApi } from '../../../tools/generate-docs.ts'
import { answerSchemas, valueSchemas } from '../../../tools/python-sources.ts'

/** Writes the schemas from which python/tools/generate.py makes models. */
export async function writeSchemas(file: string): Promise<void> {
  const openApi = await readOpenApi()
  writeFileSync(file, JSON.stringify({ answers: answerSchemas(openApi), values: valueSchemas(openApi) }))
}

if (process.argv[1] === import.meta.filename) await writeSchemas(process.argv[2]!)
