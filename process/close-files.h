/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Closes all descriptors from `first` on, whatever the process's limit of descriptors is. */
void close_files_from(int first);
