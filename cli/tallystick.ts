#!/usr/bin/env node
import { runAsProcess } from './process.ts'

await runAsProcess(process.argv.slice(2))
