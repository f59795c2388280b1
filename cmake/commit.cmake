# DKHO_COMMIT: the commit that is built, for manifests: its short hash, with a + when files differ from it. "unknown" outside a
# repository of ours or without git; packagers may give -DDKHO_COMMIT=….
if(NOT DEFINED CACHE{DKHO_COMMIT})
  set(DKHO_COMMIT unknown)
  find_package(Git QUIET)
  if(GIT_FOUND AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
    execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --abbrev=12 --dirty=+ --exclude=*
                    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE found ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(found)
      set(DKHO_COMMIT ${found})
    endif()
  endif()
endif()
